"""The browser application: its static files, their collection for a server or a static host, and
the server.

site.py      the page's files, with the installed models
server.py    a server on this machine
"""
