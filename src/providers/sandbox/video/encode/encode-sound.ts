import { AudioData, AudioEncoder } from '@napi-rs/webcodecs';
import { EncodedPacket } from 'mediabunny';

const sampleRate = 48_000;
const bitrate = 96_000;
/** Of AAC: so many samples make a packet. */
const packetSamples = 1_024;
const packetSeconds = packetSamples / sampleRate;
/** Hertz of a soft chord; the right ear's tones beat against the left's. */
const tones = [
  [220, 277.2, 329.6],
  [220.5, 277.6, 330],
] as const;
const loudness = 0.07;
const fadeSeconds = 0.4;

export interface SoundPacket {
  packet: EncodedPacket;
  decoderConfig: { codec: string; sampleRate: number; numberOfChannels: number; description?: Uint8Array };
}

/** A soft chord as AAC, as many whole packets as fit into `seconds`, so that no padding is left when the pictures end. */
export const encodeSound = async (seconds: number): Promise<SoundPacket[]> => {
  const count = Math.floor(seconds / packetSeconds);
  // The encoder puts one packet of run-up before the samples.
  const samples = (count - 1) * packetSamples;
  if (samples <= 0) return [];
  const encoded: Uint8Array[] = [];
  let description: Uint8Array | undefined;
  let problem: Error | null = null;
  const encoder = new AudioEncoder({
    output: (chunk, metadata) => {
      description ??= metadata?.decoderConfig?.description;
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      encoded.push(data);
    },
    error: (error) => {
      problem = error;
    },
  });
  const decoderConfig = { codec: 'mp4a.40.2', sampleRate, numberOfChannels: tones.length };
  try {
    encoder.configure({ ...decoderConfig, bitrate });
    const sound = new AudioData({
      format: 'f32-planar',
      sampleRate,
      numberOfChannels: tones.length,
      numberOfFrames: samples,
      timestamp: 0,
      data: chord(samples),
    });
    encoder.encode(sound);
    sound.close();
    await encoder.flush();
  } finally {
    if (encoder.state !== 'closed') encoder.close();
  }
  if (problem !== null) throw problem;
  // Its own times are those of the samples, and those of the last packets overlap.
  return encoded.slice(0, count).map((data, index) => ({
    packet: new EncodedPacket(data, 'key', index * packetSeconds, packetSeconds),
    decoderConfig: { ...decoderConfig, description },
  }));
};

const chord = (samples: number): Float32Array => {
  const waves = new Float32Array(samples * tones.length);
  for (const [channel, hertz] of tones.entries())
    for (let index = 0; index < samples; index += 1) {
      const time = index / sampleRate;
      const fade = Math.min(1, Math.min(time, samples / sampleRate - time) / fadeSeconds);
      const wave = hertz.reduce((sum, tone) => sum + Math.sin(tone * 2 * Math.PI * time), 0);
      waves[channel * samples + index] = loudness * fade * wave;
    }
  return waves;
};
