import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  Output,
} from 'mediabunny';

/** 48 000 Hz: the least that a packet of sound can last. */
const sampleSeconds = 1 / 48_000;

/** A film of the first `pictures` of another one, at twelve a second, with a sound track of its own length beside them. */
export const muxFilm = async ({
  from,
  pictures,
  soundMs,
  isFragmented,
}: {
  from: Buffer;
  pictures: number;
  soundMs: number;
  isFragmented: boolean;
}): Promise<Buffer> => {
  const input = new Input({ formats: [MP4], source: new BufferSource(from) });
  const track = await input.getPrimaryVideoTrack();
  if (track === null) throw new Error('there are no pictures to copy');
  const target = new BufferTarget();
  const fastStart = isFragmented ? 'fragmented' : 'in-memory';
  const output = new Output({ format: new Mp4OutputFormat({ fastStart }), target });
  const video = new EncodedVideoPacketSource('avc');
  const audio = new EncodedAudioPacketSource('aac');
  output.addVideoTrack(video, { frameRate: 12 });
  output.addAudioTrack(audio);
  await output.start();
  const decoderConfig = (await track.getDecoderConfig()) ?? undefined;
  const sink = new EncodedPacketSink(track);
  const first = await sink.getPacket(0);
  if (first === null) throw new Error('there is no picture to copy');
  for (let index = 0; index < pictures; index += 1)
    await video.add(new EncodedPacket(first.data, 'key', index / 12, 1 / 12), { decoderConfig });
  video.close();
  // Nobody listens: one packet that lasts as long as the sound.
  const lasts = Math.round(soundMs * 48) * sampleSeconds;
  await audio.add(new EncodedPacket(Uint8Array.of(33, 0, 73, 144), 'key', 0, lasts), {
    decoderConfig: {
      codec: 'mp4a.40.2',
      sampleRate: 48_000,
      numberOfChannels: 1,
      description: Uint8Array.of(0x11, 0x88),
    },
  });
  await output.finalize();
  input.dispose();
  if (target.buffer === null) throw new Error('nothing was written');
  return Buffer.from(target.buffer);
};
