import '@napi-rs/webcodecs/polyfill';
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  AudioSample,
  AudioSampleSource,
  FilePathTarget,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
  VideoSample,
  VideoSampleSource,
} from 'mediabunny';
import type { FilmPlan } from './plan-film.ts';

/** A film to be encoded; plain JSON. */
export interface FilmEncoding {
  plan: FilmPlan;
  /** Files of 8-bit RGB with an unused fourth byte, in the film's size, one for each shot. */
  stills: string[];
  /** The file to be written. */
  film: string;
}

const keySeconds = 2;
const bitsPerPixel = 0.1;
/** The encoder converts RGB by the matrix of BT.601. */
const colorSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'smpte170m', fullRange: false } as const;

/** Encodes a film into a file, its header first; tells how many pictures were made. Throws when it fails. */
export const encodeFilm = async (
  { plan, stills, film }: FilmEncoding,
  onPicture: (made: number) => void,
): Promise<void> => {
  const { width, height, fps, frames } = plan;
  const Format = plan.container === 'mov' ? MovOutputFormat : Mp4OutputFormat;
  const output = new Output({
    format: new Format({ fastStart: 'in-memory' }),
    target: new FilePathTarget(film),
  });
  output.setMetadataTags({ comment: 'Sandbox output: drawn, not made by a model' });
  const pictures = new VideoSampleSource({
    codec: plan.codec === 'hevc' ? 'hevc' : 'avc',
    bitrate: Math.round(width * height * fps * bitsPerPixel),
    keyFrameInterval: keySeconds,
    // With one software encoder films are alike on every machine; without B-pictures 4k takes 0.3 GB less.
    latencyMode: 'realtime',
    hardwareAcceleration: 'prefer-software',
  });
  output.addVideoTrack(pictures, { frameRate: fps });
  const sounds = new AudioSampleSource({ codec: 'aac', bitrate: 96_000 });
  if (plan.hasSound) output.addAudioTrack(sounds);
  try {
    await output.start();
    if (plan.hasSound) {
      await sounds.add(chord(frames / fps));
      sounds.close();
    }
    let made = 0;
    for (const [index, still] of stills.entries()) {
      const picture = pictureOf(still, plan);
      // Shots of whole pictures that add up to the film.
      for (const end = Math.floor(((index + 1) * frames) / stills.length); made < end;) {
        picture.setTimestamp(made / fps);
        await pictures.add(picture);
        made += 1;
        onPicture(made);
        // The memory of encoded pictures is given back in a later turn of the event loop.
        await nextTurn();
      }
      picture.close();
    }
    await output.finalize();
  } catch (error) {
    if (output.state === 'started') await output.cancel();
    throw error;
  }
};

/** Loads a still into the encoder's own memory, once for all pictures of its shot. */
const pictureOf = (file: string, { width, height, fps }: FilmPlan): VideoSample => {
  const init = { codedWidth: width, codedHeight: height, timestamp: 0, duration: 1 / fps, colorSpace };
  const loaded = new VideoSample(readFileSync(file), { ...init, format: 'RGBX' });
  const picture = new VideoSample(loaded.toVideoFrame(), init);
  loaded.close();
  return picture;
};

const sampleRate = 48_000;
/** A packet of AAC. */
const packetSamples = 1_024;
/** Hertz. */
const tones = [220, 277.2, 329.6];
const loudness = 0.07;
const fadeSeconds = 0.4;

/** Makes a soft chord of as many whole packets as fit into `seconds`, so that no padding is left when the pictures end. */
const chord = (seconds: number): AudioSample => {
  const length = Math.floor((seconds * sampleRate) / packetSamples) * packetSamples;
  const data = Float32Array.from({ length }, (_, index) => {
    const time = index / sampleRate;
    const fade = Math.min(1, Math.min(time, length / sampleRate - time) / fadeSeconds);
    return loudness * fade * tones.reduce((sum, tone) => sum + Math.sin(tone * 2 * Math.PI * time), 0);
  });
  return new AudioSample({ data, format: 'f32-planar', numberOfChannels: 1, sampleRate, timestamp: 0 });
};
