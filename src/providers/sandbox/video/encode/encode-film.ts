import { readFileSync, writeFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { VideoEncoder, VideoFrame } from '@napi-rs/webcodecs';
import {
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  FilePathTarget,
  MovOutputFormat,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';
import type { FilmPlan } from '../film-plan.ts';
import { encodeSound } from './encode-sound.ts';
import { toPlanes, toRgb, zoomed } from './planes.ts';

/** A film to be encoded; plain JSON. */
export interface FilmEncoding {
  plan: FilmPlan;
  /** Files of 8-bit RGB in the film's size, one for each shot. */
  stills: string[];
  /** The file to be written. */
  film: string;
  /** Where the last picture goes as 8-bit RGB; null: nowhere. */
  lastFrame: string | null;
}

/** How much nearer a shot comes, or, where it ends the film, how much farther it began. */
const zoom = 0.04;
const keySeconds = 2;
const bitsPerPixel = 0.1;
/** Pictures that wait to be encoded; one of 4k has 12 MB. */
const maxWaiting = 1;
const colorSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'bt709', fullRange: false } as const;
/** The highest level that any film here needs; the encoder writes the true one. */
const codecs = {
  h264: { codec: 'avc1.640032', avc: { format: 'avc' }, name: 'avc' },
  // Apple's players know HEVC by this tag alone.
  hevc: { codec: 'hvc1.1.6.L153.B0', hevc: { format: 'hevc' }, name: 'hevc' },
} as const;

/** Encodes a film into a file, its header first; tells how many pictures were made. Throws when it fails. */
export const encodeFilm = async (task: FilmEncoding, onPicture: (made: number) => void): Promise<void> => {
  const { plan, film } = task;
  const Format = plan.container === 'mov' ? MovOutputFormat : Mp4OutputFormat;
  const output = new Output({
    format: new Format({ fastStart: 'in-memory' }),
    target: new FilePathTarget(film),
  });
  output.setMetadataTags({ comment: 'Sandbox output: drawn, not made by a model' });
  try {
    await writeFilm(task, output, onPicture);
    await output.finalize();
  } catch (error) {
    if (output.state === 'started') await output.cancel();
    throw error;
  }
};

const writeFilm = async (
  task: FilmEncoding,
  output: Output,
  onPicture: (made: number) => void,
): Promise<void> => {
  const { plan } = task;
  const { width, height, fps, frames } = plan;
  const { name, ...settings } = codecs[plan.codec];
  const pictures = new EncodedVideoPacketSource(name);
  output.addVideoTrack(pictures, { frameRate: fps });
  const sound = plan.hasSound ? await encodeSound(frames / fps) : [];
  const sounds = new EncodedAudioPacketSource('aac');
  if (sound.length > 0) output.addAudioTrack(sounds);
  await output.start();

  const encoded: { packet: EncodedPacket; decoderConfig: VideoDecoderConfig | undefined }[] = [];
  let problem: Error | null = null;
  let wake = (): void => {};
  const encoder = new VideoEncoder({
    output: (chunk, metadata) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      const index = Math.round((chunk.timestamp * fps) / 1e6);
      encoded.push({
        packet: new EncodedPacket(data, chunk.type, index / fps, 1 / fps),
        decoderConfig: metadata?.decoderConfig && { ...metadata.decoderConfig, colorSpace },
      });
    },
    error: (error) => {
      problem = error;
      wake();
    },
  });
  encoder.addEventListener('dequeue', () => wake());
  /** Hands on what is encoded, the sound with the pictures that it is heard with. */
  const handOn = async (): Promise<void> => {
    if (problem !== null) throw problem;
    for (const { packet, decoderConfig } of encoded.splice(0)) {
      while (sound[0] !== undefined && sound[0].packet.timestamp <= packet.timestamp) {
        const next = sound.shift();
        if (next !== undefined) await sounds.add(next.packet, { decoderConfig: next.decoderConfig });
      }
      await pictures.add(packet, { decoderConfig });
    }
  };

  try {
    // With one software encoder films are alike on every machine; without B-pictures 4k takes 0.3 GB less.
    encoder.configure({
      ...settings,
      width,
      height,
      framerate: fps,
      bitrate: Math.round(width * height * fps * bitsPerPixel),
      latencyMode: 'realtime',
      hardwareAcceleration: 'prefer-software',
    });
    let last: Uint8Array | null = null;
    for (const { planes, index } of filmPictures(task)) {
      const frame = new VideoFrame(planes, {
        format: 'I420',
        codedWidth: width,
        codedHeight: height,
        timestamp: Math.round((index * 1e6) / fps),
        duration: Math.round(1e6 / fps),
        colorSpace,
      });
      encoder.encode(frame, { keyFrame: index % (keySeconds * fps) === 0 });
      frame.close();
      while (encoder.encodeQueueSize > maxWaiting && problem === null)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      await handOn();
      last = planes;
      onPicture(index + 1);
      // The memory of closed frames is given back in a later turn of the event loop.
      await nextTurn();
    }
    await encoder.flush();
    await handOn();
    if (task.lastFrame !== null && last !== null) writeFileSync(task.lastFrame, toRgb(last, plan));
  } finally {
    if (encoder.state !== 'closed') encoder.close();
  }
};

/** The pictures in order, each in memory of its own, as the encoder may still be at the one before. */
const filmPictures = function* ({
  plan,
  stills,
}: FilmEncoding): Generator<{ planes: Uint8Array; index: number }, void, undefined> {
  const { frames, shots } = plan;
  let index = 0;
  for (const [position, shot] of shots.entries()) {
    const planes = toPlanes(readFileSync(stills[position] ?? ''), plan);
    const isEnd = shot.kind === 'image' && shot.place === 'end';
    // Shots of whole pictures that add up to the film.
    const [from, to] = [position, position + 1].map((shot) => Math.floor((shot * frames) / shots.length));
    const length = (to ?? 0) - (from ?? 0);
    for (let at = 0; at < length; at += 1, index += 1) {
      // The exact still stands first; at the end of the film, last.
      const moved = isEnd ? length - 1 - at : at;
      yield { planes: zoomed(planes, plan, 1 + (zoom * moved) / length), index };
    }
  }
};
