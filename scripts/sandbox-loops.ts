/**
 * Makes the films of one second and the sound that the sandbox joins (src/providers/sandbox/loops). It is run by hand, with
 * an encoder that nothing else needs: `npm install --no-save @napi-rs/webcodecs@1.3.1 && npx node --import
 * @napi-rs/webcodecs/polyfill scripts/sandbox-loops.ts`.
 */
import { mkdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Resvg } from '@resvg/resvg-js';
import {
  AudioSample,
  AudioSampleSource,
  FilePathTarget,
  Mp4OutputFormat,
  Output,
  Quality,
  VideoSample,
  VideoSampleSource,
} from 'mediabunny';
import sharp from 'sharp';
import {
  type FrameSize,
  ratioProportion,
  videoRatios,
  videoResolutions,
  videoSize,
} from '../src/providers/video/video-provider.ts';

const folder = fileURLToPath(new URL('../src/providers/sandbox/loops/', import.meta.url));
const require = createRequire(import.meta.url);
const fontFile = require.resolve('@expo-google-fonts/open-sans/600SemiBold/OpenSans_600SemiBold.ttf');

const fps = 24;
const quantizer = 28;
/** The encoder converts RGB by the matrix of BT.601. */
const colorSpace = { primaries: 'bt709', transfer: 'bt709', matrix: 'smpte170m', fullRange: false } as const;
const background = '#1b2a49';
/** The bytes of a pixel, read as one number: opaque, blue, green, red. */
const barColour = 0xff_4c_b7_f2;

const openOutput = (name: string): Output =>
  new Output({
    format: new Mp4OutputFormat({ fastStart: 'in-memory' }),
    target: new FilePathTarget(`${folder}${name}.mp4`),
  });

/** Draws the word and the size, as RGBA. */
const drawCard = ({ width, height }: FrameSize): Uint8Array => {
  const unit = Math.min(width, height) / 100;
  const text = (below: number, fontSize: number, words: string): string =>
    `<text x="${width / 2}" y="${height / 2 + below * unit}" font-size="${fontSize * unit}" ` +
    `font-family="Open Sans" font-weight="600" text-anchor="middle" fill="#ffffff">${words}</text>`;
  const card =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">` +
    `<rect width="${width}" height="${height}" fill="${background}"/>` +
    `${text(0, 16, 'SANDBOX')}${text(12, 6, `${width} x ${height}`)}</svg>`;
  return new Resvg(card, { font: { loadSystemFonts: false, fontFiles: [fontFile] } }).render().pixels;
};

/** Returns the card with a bar, which goes from the left edge to the right one in the pictures of a second. */
const drawPicture = (card: Uint8Array, { width, height }: FrameSize, index: number): Uint8Array => {
  const picture = Uint8Array.from(card);
  const pixels = new Uint32Array(picture.buffer);
  const barWidth = Math.round(width / 8);
  const left = Math.round((index * (width - barWidth)) / (fps - 1));
  for (let row = Math.round(height * 0.8); row < Math.round(height * 0.9); row += 1)
    pixels.fill(barColour, row * width + left, row * width + left + barWidth);
  return picture;
};

/** Level 5.0, which 4k needs. */
const hevcLevel = 150;
/** 4:2:0, 8 bits twice, no extensions. */
const highProfileFields = [0xfd, 0xf8, 0xf8, 0];

/** Corrects the decoder's configuration: the encoder leaves out these fields of `avcC`, and claims a lower level in `hvcC`. */
const correct = (config: VideoDecoderConfig | undefined, codec: 'avc' | 'hevc'): void => {
  if (!(config?.description instanceof Uint8Array)) return;
  if (codec === 'avc') config.description = Uint8Array.of(...config.description, ...highProfileFields);
  else config.description[12] = hevcLevel;
};

/** Makes a second of pictures, and its last picture as PNG. */
const makePictures = async (size: FrameSize, codec: 'avc' | 'hevc'): Promise<void> => {
  const { width, height } = size;
  const name = `${width}x${height}`;
  const output = openOutput(name);
  const source = new VideoSampleSource({
    codec,
    quality: new Quality({ quantizer }),
    // Pictures stay in their order, so any number of seconds can follow one another.
    latencyMode: 'realtime',
    hardwareAcceleration: 'prefer-software',
    onEncodedPacket: (_packet, meta) => correct(meta?.decoderConfig, codec),
  });
  output.addVideoTrack(source, { frameRate: fps });
  await output.start();
  const card = drawCard(size);
  let picture = card;
  for (let index = 0; index < fps; index += 1) {
    picture = drawPicture(card, size, index);
    const sample = new VideoSample(picture, {
      format: 'RGBX',
      codedWidth: width,
      codedHeight: height,
      timestamp: index / fps,
      duration: 1 / fps,
      colorSpace,
    });
    await source.add(sample);
    sample.close();
  }
  await output.finalize();
  await sharp(picture, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .png({ palette: true, compressionLevel: 9 })
    .toFile(`${folder}${name}.png`);
};

const sampleRate = 48_000;
/** With the one that the encoder adds, 47 packets of AAC: as many whole ones as come nearest to a second. */
const soundSamples = 46 * 1_024;
const tones = [440, 554.4, 659.3];

/** Makes a chord that dies away before the end, so that it can be repeated without a click. */
const makeSound = async (): Promise<void> => {
  const data = Float32Array.from({ length: soundSamples }, (_, index) => {
    const time = index / sampleRate;
    const loudness = 0.1 * Math.min(1, time / 0.02) * Math.max(0, 1 - time / 0.8) ** 2;
    return loudness * tones.reduce((sum, tone) => sum + Math.sin(tone * 2 * Math.PI * time), 0);
  });
  const output = openOutput('sound');
  const source = new AudioSampleSource({ codec: 'aac', quality: new Quality({ bitrate: 64_000 }) });
  output.addAudioTrack(source);
  await output.start();
  await source.add(
    new AudioSample({ data, format: 'f32-planar', numberOfChannels: 1, sampleRate, timestamp: 0 }),
  );
  await output.finalize();
};

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
await makeSound();
for (const resolution of videoResolutions)
  for (const ratio of videoRatios)
    if (ratio !== 'adaptive')
      await makePictures(videoSize(resolution, ratioProportion(ratio)), resolution === '4k' ? 'hevc' : 'avc');
