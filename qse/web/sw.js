/**
 * Keep the page in the browser, so that it works without a network after the first visit.
 *
 * All files of one build are cached together, and pages get files of one build only. Responses carry the headers that
 * allow shared memory, which static hosts often cannot send.
 */

const FOLDER = new URL("./", self.location).href;
const PREFIX = `qse ${FOLDER} `; // of the caches of this page: another may be on the same host
const CACHE = `${PREFIX}@BUILD@`;
const FILES = "@FILES@";
const OWN = new Set([FOLDER, ...FILES.map((file) => new URL(file, FOLDER).href)]);
const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

async function install() {
  const cache = await caches.open(CACHE);
  await cache.addAll(FILES.map((file) => new Request(file, { cache: "reload" })));
}

async function removeOldBuilds() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

function plain(url) {
  return url.split(/[?#]/)[0];
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  const page = plain(request.url) === FOLDER ? `${FOLDER}index.html` : request.url;
  const response = (await cache.match(page, { ignoreSearch: true })) ?? (await fetch(request));
  const headers = new Headers(response.headers);
  Object.entries(ISOLATION).forEach(([name, value]) => headers.set(name, value));
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(removeOldBuilds()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (OWN.has(plain(request.url)) && request.method === "GET") event.respondWith(answer(request));
});
