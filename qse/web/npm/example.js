import { denoiseTrack } from "./dist/npm/index.js";

const $ = (id) => document.getElementById(id);
const say = (message) => ($("status").textContent = message);
let denoised = null;

$("start").onclick = async () => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { noiseSuppression: false } });
  const [track] = stream.getAudioTracks();
  try {
    denoised = await denoiseTrack(track, { onChange: ({ message }) => say(message) });
    say(`Cleaned by ${denoised.model}.`);
  } catch (error) {
    say(`${error.message} The microphone is heard as it is.`);
  }
  $("player").srcObject = new MediaStream([denoised?.track ?? track]);
  $("player").play();
  $("stop").onclick = () => {
    denoised?.close();
    track.stop();
    say("Off.");
  };
  $("stop").disabled = false;
};
