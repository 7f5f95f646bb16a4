/** The models of the package, and the sentences of its errors. */

import { modelsOf } from "../model/bands.js";

const PHONE = /Android|iPhone|iPad|Mobi/;
export const SMALLEST = "live-tiny";
const LARGEST = "live-base";

/** The folder of the package that holds `live`, `model`, `models` and so on; it ends with a slash. */
export function assetsAt(assets = new URL("../", import.meta.url)) {
  const here = globalThis.document?.baseURI ?? globalThis.location?.href;
  const address = new URL(assets, here).href;
  return address.endsWith("/") ? address : `${address}/`;
}

/** Return the model that suits the device: the smallest one on a phone. */
export function defaultModel(agent = globalThis.navigator) {
  const phone = agent?.userAgentData?.mobile ?? PHONE.test(agent?.userAgent ?? "");
  return phone ? SMALLEST : LARGEST;
}

/** Return an error of qse-web: what is wrong, and the cure. */
export function failure(sentence) {
  return new Error(`qse-web: ${sentence}`);
}

/** Return the error to hand out for one of the parts that the package shares with the page of `qse web`. */
export function translated(error) {
  if (!error.file) return failure(error.message);
  return failure(
    `${error.file} cannot be loaded, or is of another version: serve all of the folder dist of one version of qse-web, ` +
      "and name its address with the option assets.",
  );
}

/** Return the entry of `models.json` for a model. Error where it cannot be read or has no such model. */
export async function findModel(name, assets) {
  const file = new URL("models.json", assets).href;
  let models;
  try {
    models = modelsOf(await (await fetch(file)).json(), assets);
  } catch {
    throw translated({ file });
  }
  const model = models.find((one) => one.name === name);
  if (model) return model;
  throw failure(`there is no model ${name}: choose one of ${models.map((one) => one.name).join(", ")}.`);
}

/** Return the attenuation limit in dB, null for none. Error for another value. */
export function checkedStrength(strength = null) {
  if (strength === null || (Number.isFinite(strength) && strength >= 0)) return strength;
  throw failure(`strength is ${strength}: give decibels from 0 up, or null for no limit.`);
}
