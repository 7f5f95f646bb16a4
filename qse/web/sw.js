/**
 * Keep the page in the browser, so that it works without a network after the first visit.
 *
 * All files of one build are cached together, and pages get files of one build only. Responses carry the headers that
 * allow shared memory, which static hosts often cannot send.
 */

const CACHE = "qse-@BUILD@";
const FILES = "@FILES@";
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
  await Promise.all(names.filter((name) => name.startsWith("qse-") && name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function answer(request) {
  const cache = await caches.open(CACHE);
  const folder = new URL("./", self.location).href;
  const page = request.url.split(/[?#]/)[0] === folder ? `${folder}index.html` : request.url;
  const response = (await cache.match(page, { ignoreSearch: true })) ?? (await fetch(request));
  const headers = new Headers(response.headers);
  Object.entries(ISOLATION).forEach(([name, value]) => headers.set(name, value));
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(removeOldBuilds()));
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const own = new URL(request.url).origin === self.location.origin;
  if (own && request.method === "GET") event.respondWith(answer(request));
});
