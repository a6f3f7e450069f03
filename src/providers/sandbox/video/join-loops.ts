import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MovOutputFormat,
  MP4,
  Mp4OutputFormat,
  Output,
  type EncodedPacket,
  type InputTrack,
} from 'mediabunny';
import { type FilmPlan, loopUrl } from './plan-film.ts';

/** A packet of AAC. */
const packetSamples = 1_024;

/** Repeats the stored second, a little slower or faster where the length needs it, so all films end alike. */
export const joinLoops = async (
  { width, height, seconds, container, hasSound }: FilmPlan,
  signal: AbortSignal,
): Promise<Uint8Array> => {
  const second = await readLoop(`${width}x${height}.mp4`, (input) => input.getPrimaryVideoTrack());
  const sound = hasSound ? await readLoop('sound.mp4', (input) => input.getPrimaryAudioTrack()) : null;
  const target = new BufferTarget();
  const Format = container === 'mov' ? MovOutputFormat : Mp4OutputFormat;
  const output = new Output({ format: new Format({ fastStart: 'in-memory' }), target });
  output.setMetadataTags({ comment: 'Sandbox output: a test picture, not made by a model' });
  const pictures = new EncodedVideoPacketSource(second.codec === 'hevc' ? 'hevc' : 'avc');
  output.addVideoTrack(pictures);
  const sounds = new EncodedAudioPacketSource('aac');
  if (sound !== null) output.addAudioTrack(sounds);
  await output.start();
  if (sound !== null) {
    const duration = packetSamples / sound.decoderConfig.sampleRate;
    // Only whole packets that fit, so no padding is left when the pictures end.
    await addPackets(sounds, sound, { count: Math.floor(seconds / duration), duration, signal });
    sounds.close();
  }
  const count = Math.max(1, Math.round(seconds)) * second.packets.length;
  await addPackets(pictures, second, { count, duration: seconds / count, signal });
  await output.finalize();
  if (target.buffer === null) throw new Error('no film was written');
  return new Uint8Array(target.buffer);
};

interface Loop<Config> {
  packets: EncodedPacket[];
  decoderConfig: Config;
}

/** Reads the packets of a stored file. They are in the order in which they are shown. */
const readLoop = async <Config>(
  name: string,
  find: (input: Input) => Promise<(InputTrack & { getDecoderConfig(): Promise<Config | null> }) | null>,
): Promise<Loop<Config> & { codec: string | null }> => {
  const input = new Input({ source: new BufferSource(await readFile(loopUrl(name))), formats: [MP4] });
  const track = await find(input);
  const decoderConfig = await track?.getDecoderConfig();
  if (track === null || !decoderConfig) throw new Error(`${name} has no such track`);
  const packets = await Array.fromAsync(new EncodedPacketSink(track).packets());
  return { packets, decoderConfig, codec: await track.getCodec() };
};

/** Adds `count` packets of the same duration, after the last one the first again. Other work has its turn after each round. */
const addPackets = async <Config>(
  source: { add(packet: EncodedPacket, meta: { decoderConfig: Config }): Promise<void> },
  { packets, decoderConfig }: Loop<Config>,
  { count, duration, signal }: { count: number; duration: number; signal: AbortSignal },
): Promise<void> => {
  for (let index = 0; index < count;) {
    for (const packet of packets.slice(0, count - index)) {
      await source.add(packet.clone({ timestamp: index * duration, duration }), { decoderConfig });
      index += 1;
    }
    await nextTurn();
    signal.throwIfAborted();
  }
};
