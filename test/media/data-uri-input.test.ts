import fc from 'fast-check';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { toAppError } from '../../src/kit/errors.ts';
import { createFetchInput, type FetchedInput } from '../../src/media/fetch-input.ts';
import { type StreamInputOptions } from '../../src/media/stream-input.ts';
import { type Outbound } from '../../src/http/outbound.ts';
import { rejectionOf } from '../providers/collect.ts';
import {
  dataUri,
  makeAnimation,
  makeBomb,
  makeImage,
  makeNoise,
  makeScans,
  repeatFrame,
  svg,
} from './input-images.ts';
import { asItIs, imageOptions, refusal } from './refused-input.ts';

let png: Buffer;
let jpeg: Buffer;
let webp: Buffer;
let noise: Buffer;
const wav = Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0', 'latin1');
const mp3 = Buffer.from([0xff, 0xfb, 0x90, 0x64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const mp4 = Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isommp42', 'latin1');

beforeAll(async () => {
  png = await makeImage('png');
  jpeg = await makeImage('jpeg');
  webp = await makeImage('webp');
  noise = await makeNoise(700, 500);
});

const nothingToDownload: Outbound['download'] = () => Promise.reject(new Error('a data URI was downloaded'));

const fetchText = (text: string, options: Partial<StreamInputOptions> = {}): Promise<FetchedInput> =>
  createFetchInput({ download: nothingToDownload })(text, { ...imageOptions, ...options }, asItIs);

const seeThrough = (colour: string): Promise<Buffer> =>
  sharp({ create: { width: 48, height: 32, channels: 4, background: colour } })
    .avif()
    .toBuffer();

describe('a data URI', () => {
  it.each([
    ['image/png', () => png],
    ['image/jpeg', () => jpeg],
    ['image/webp', () => webp],
  ])('of %s gives its bytes', async (contentType, bytes) => {
    const fetched = await fetchText(dataUri(contentType, bytes()));
    expect(fetched).toMatchObject({ contentType });
    expect(Buffer.from(fetched.bytes).equals(bytes())).toBe(true);
  });

  it.each<[string, () => Promise<Buffer>, string]>([
    ['a GIF', () => makeImage('gif', { colour: '#ff0000' }), 'image/png'],
    ['the first picture of a moving GIF', () => makeAnimation(['#ff0000', '#0000ff']), 'image/png'],
    ['an AVIF', () => makeImage('avif', { colour: '#ff0000' }), 'image/jpeg'],
    ['a see-through AVIF', () => seeThrough('#ff000080'), 'image/png'],
  ])('of %s gives it as upstreams take it', async (_what, make, contentType) => {
    const bytes = await make();
    const declared = bytes.toString('latin1', 0, 3) === 'GIF' ? 'image/gif' : 'image/avif';
    const fetched = await fetchText(dataUri(declared, bytes));
    expect(fetched).toMatchObject({ contentType });
    const { format, width, height, pages } = await sharp(fetched.bytes).metadata();
    expect({ format: `image/${format}`, width, height, pages: pages ?? 1 }).toEqual({
      format: contentType,
      width: 48,
      height: 32,
      pages: 1,
    });
    const { r, g, b } = (await sharp(fetched.bytes).stats()).dominant;
    expect(r).toBeGreaterThan(200);
    expect(Math.max(g, b)).toBeLessThan(60);
  });

  it.each<[string, () => Promise<Buffer>, string]>([
    ['a GIF of very many frames', async () => repeatFrame(await makeImage('gif'), 1_001), 'far more scans'],
    ['a cut-off AVIF', async () => (await makeImage('avif')).subarray(0, -20), 'broken or cut off'],
  ])('of %s is refused', async (_what, make, words) => {
    const uri = dataUri('application/octet-stream', await make());
    expect(await rejectionOf(fetchText(uri))).toEqual(refusal(words));
  });

  it('of a small AVIF that is too large as what upstreams take is refused', async () => {
    const uri = dataUri('image/avif', await makeImage('avif', { width: 640, height: 480 }));
    expect(await rejectionOf(fetchText(uri, { maxBytes: 1_000 }))).toEqual(refusal('as image/jpeg'));
  });

  it('may write its type in capitals, and by a common other name', async () => {
    expect(await fetchText(dataUri('IMAGE/PNG', png).replace('data', 'DATA'))).toMatchObject({
      contentType: 'image/png',
    });
    expect(await fetchText(dataUri('image/jpg', jpeg))).toMatchObject({ contentType: 'image/jpeg' });
  });

  it.each([
    ['another type than it holds', () => dataUri('image/jpeg', png), 'holds image/png but is declared'],
    ['a type that is no image', () => dataUri('text/html', png), 'is declared as another type'],
    ['SVG', () => dataUri('image/svg+xml', svg), 'is not a PNG, JPEG, WebP, GIF or AVIF image'],
    ['SVG as PNG', () => dataUri('image/png', svg), 'is not a PNG, JPEG, WebP, GIF or AVIF image'],
    ['a sound', () => dataUri('audio/wav', wav), 'is not a PNG, JPEG, WebP, GIF or AVIF image'],
    ['nothing', () => 'data:image/png;base64,', 'is empty'],
    ['no base64', () => `data:image/png,${png.toString('latin1')}`, 'is not a data URI of the form'],
    ['base64 of URLs', () => `data:image/png;base64,-_${png.toString('base64').slice(2)}`, 'proper base64'],
    ['broken lines', () => dataUri('image/png', png).replace(/(.{60})/g, '$1\n'), 'proper base64'],
    ['no padding', () => 'data:image/png;base64,iVBORw', 'proper base64'],
    ['parameters', () => dataUri('image/png;charset=utf-8', png), 'is not a data URI of the form'],
    ['no type', () => dataUri('', png), 'is not a data URI of the form'],
    ['a cut-off image', () => dataUri('image/png', noise.subarray(0, 5_000)), 'broken or cut off'],
    ['an image of very many scans', () => dataUri('image/jpeg', makeScans(101)), 'far more scans, texts'],
    ['too many pixels', () => dataUri('image/png', makeBomb(8_000, 8_000)), 'more than 50 million pixels'],
  ])('with %s is refused', async (_name, uri, words) => {
    expect(await rejectionOf(fetchText(uri()))).toEqual(refusal(words));
  });

  it('may have the maximum size, and not one byte more', async () => {
    const maxBytes = noise.length;
    const uri = dataUri('image/png', noise);
    expect(await fetchText(uri, { maxBytes })).toMatchObject({ contentType: 'image/png' });
    expect(await rejectionOf(fetchText(uri, { maxBytes: maxBytes - 1 }))).toEqual(refusal('is larger than'));
  });

  it('of any bytes is taken exactly when they are an image of that type, and is otherwise a clear refusal', async () => {
    const types = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'application/octet-stream'];
    const anyBytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(0, 1, 2).map((which) => [png, jpeg, webp][which] ?? png),
      fc.nat(120).map((length) => png.subarray(0, length)),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...types), anyBytes, async (type, bytes) => {
        const held = [png, jpeg, webp].indexOf(bytes);
        const isRight = held >= 0 && (types[held] === type || type === 'application/octet-stream');
        const taking = fetchText(dataUri(type, bytes));
        if (isRight) expect(Buffer.from((await taking).bytes).equals(bytes)).toBe(true);
        else expect(await rejectionOf(taking)).toMatchObject({ code: 'invalid_parameter', param: 'image.3' });
      }),
      { numRuns: 300 },
    );
  });

  it('of any text never causes a fault', async () => {
    const heads = fc.constantFrom('', 'data:', 'data:;base64,', 'data:image/png;base64,', 'ftp:', '//');
    const text = fc.tuple(heads, fc.string({ unit: 'grapheme', maxLength: 60 }));
    await fc.assert(
      fc.asyncProperty(text, async ([head, rest]) => {
        expect(toAppError(await rejectionOf(fetchText(head + rest))).code).toBe('invalid_parameter');
      }),
      { numRuns: 500 },
    );
  });
});

describe('a sound or video in a data URI', () => {
  it.each([
    ['audio/wav', 'audio/wav', wav],
    ['audio/x-wav', 'audio/wav', wav],
    ['audio/mp3', 'audio/mpeg', mp3],
    ['video/mp4', 'video/mp4', mp4],
    ['video/quicktime', 'video/mp4', mp4],
  ])('declared as %s is %s', async (declared, contentType, bytes) => {
    const kind = declared.startsWith('audio') ? 'audio' : 'video';
    expect(await fetchText(dataUri(declared, bytes), { kind })).toMatchObject({ contentType });
  });

  it('is refused where only the other is accepted, with the accepted types in the message', async () => {
    expect(await rejectionOf(fetchText(dataUri('video/mp4', mp4), { kind: 'audio' }))).toEqual(
      refusal('is not an MP3 or WAV audio file'),
    );
  });
});
