import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import fc from 'fast-check';
import sharp from 'sharp';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toAppError } from '../../src/kit/errors.ts';
import { createFetchInput, maxInputBytes, type FetchedInput } from '../../src/media/fetch-input.ts';
import { createStreamInput, type StreamInputOptions } from '../../src/media/stream-input.ts';
import { OutboundError, type Outbound, type OutboundFailure } from '../../src/http/outbound.ts';
import { listen, openOutbound, startHttp } from '../http/local-hosts.ts';
import { makeCertificate } from '../http/make-certificate.ts';
import { noAbort, rejectionOf } from '../providers/collect.ts';
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

const imageOptions: StreamInputOptions = {
  kinds: ['image'],
  maxBytes: 2 * 1024 ** 2,
  param: 'image.3',
  signal: noAbort(),
};

const nothingToDownload: Outbound['download'] = () => Promise.reject(new Error('a data URI was downloaded'));

const fetchText = (text: string, options: Partial<StreamInputOptions> = {}): Promise<FetchedInput> =>
  createFetchInput({ download: nothingToDownload })(text, { ...imageOptions, ...options });

/** The same over a development server that answers so. */
const fetchFrom = async (
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<StreamInputOptions> = {},
): Promise<FetchedInput> => {
  const { download } = openOutbound();
  return createFetchInput({ download })(`${await startHttp(serve)}/picture`, { ...imageOptions, ...options });
};

const answering =
  (bytes: Uint8Array, contentType?: string) =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(200, contentType === undefined ? {} : { 'content-type': contentType }).end(bytes);

const seeThrough = (colour: string): Promise<Buffer> =>
  sharp({ create: { width: 48, height: 32, channels: 4, background: colour } })
    .avif()
    .toBuffer();

/** A 422 on the field, whose text has these words and its place in the body. */
const refusal = (words: string): unknown =>
  expect.objectContaining({
    name: 'AppError',
    code: 'invalid_parameter',
    status: 422,
    param: 'image.3',
    message: expect.stringMatching(new RegExp(`^image\\.3: .*${words}`)),
    issues: [{ loc: ['body', 'image', 3], msg: expect.stringContaining(words), type: 'value_error' }],
  });

describe('a data URI', () => {
  it.each([
    ['image/png', () => png],
    ['image/jpeg', () => jpeg],
    ['image/webp', () => webp],
  ])('of %s gives its bytes', async (contentType, bytes) => {
    const fetched = await fetchText(dataUri(contentType, bytes()));
    expect(fetched).toMatchObject({ kind: 'image', contentType });
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
    expect(fetched).toMatchObject({ kind: 'image', contentType });
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
    expect(await fetchText(dataUri(declared, bytes), { kinds: ['audio', 'video'] })).toMatchObject({
      contentType,
    });
  });

  it('is refused where only the other is accepted, with the accepted types in the message', async () => {
    expect(await rejectionOf(fetchText(dataUri('video/mp4', mp4), { kinds: ['audio', 'image'] }))).toEqual(
      refusal('is not an MP3 or WAV audio file or a PNG, JPEG, WebP, GIF or AVIF image'),
    );
  });
});

describe('an address', () => {
  it('of a host with a proper certificate gives the image, and of another is refused', async () => {
    const authority = makeCertificate({ name: 'Test authority' });
    const { cert, key } = makeCertificate({
      name: 'pictures',
      hosts: ['localhost'],
      issuer: authority.issuer,
    });
    const server = createHttpsServer({ cert, key }, answering(png, 'image/png'));
    onTestFinished(() => void server.close());
    const url = `https://localhost:${await listen(server)}/fox.png`;
    const trusting = createFetchInput(openOutbound({ ca: authority.cert }));
    expect(await trusting(url, imageOptions)).toMatchObject({ contentType: 'image/png' });
    const error = await rejectionOf(createFetchInput(openOutbound())(url, imageOptions));
    expect(error).toEqual(refusal('the certificate of its host is not valid'));
  });

  it.each([['image/png'], ['application/octet-stream'], [undefined], ['image/png; charset=binary']])(
    'whose answer is declared as %s gives the image',
    async (contentType) => {
      const fetched = await fetchFrom(answering(noise, contentType));
      expect(fetched).toMatchObject({ kind: 'image', contentType: 'image/png' });
      expect(Buffer.from(fetched.bytes).equals(noise)).toBe(true);
    },
  );

  it.each([
    [
      'a page',
      () => answering(Buffer.from('<html>'), 'text/html'),
      'is not a PNG, JPEG, WebP, GIF or AVIF image',
    ],
    ['an image as a page', () => answering(png, 'text/html'), 'is declared as another type'],
    ['a PNG as JPEG', () => answering(png, 'image/jpeg'), 'holds image/png but is declared as another'],
    ['SVG', () => answering(svg, 'image/svg+xml'), 'is not a PNG, JPEG, WebP, GIF or AVIF image'],
    ['nothing', () => answering(Buffer.alloc(0), 'image/png'), 'is empty'],
    ['a cut-off image', () => answering(noise.subarray(0, 9_000), 'image/png'), 'broken or cut off'],
    ['a bomb', () => answering(makeBomb(9_000, 9_000), 'image/png'), 'more than 50 million pixels'],
  ])('that answers %s is refused', async (_name, serve, words) => {
    expect(await rejectionOf(fetchFrom(serve()))).toEqual(refusal(words));
  });

  it("that answers an error is refused, without any of the answer's text", async () => {
    const error = await rejectionOf(
      fetchFrom((_request, response) => void response.writeHead(500).end('secret of the host')),
    );
    expect(error).toEqual(refusal('did not answer with a success'));
    expect(String(error)).not.toContain('secret');
  });

  it('that breaks off is refused', async () => {
    const error = await rejectionOf(
      fetchFrom((_request, response) => {
        response.writeHead(200, { 'content-length': noise.length });
        response.write(noise.subarray(0, 10_000), () => response.socket?.resetAndDestroy());
      }),
    );
    expect(error).toEqual(refusal('broke off'));
  });

  it('that never ends is refused when it is too large, and then closed', async () => {
    let closed = (): void => undefined;
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const error = await rejectionOf(
      fetchFrom(
        (_request, response) => {
          response.once('close', closed);
          response.write(noise);
          const timer = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
          response.once('close', () => clearInterval(timer));
        },
        { maxBytes: 3 * 1024 ** 2 },
      ),
    );
    expect(error).toEqual(refusal('is larger than 3 MB'));
    await isClosed;
  });

  it('is closed at once if its first bytes have another type', async () => {
    let closed = (): void => undefined;
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const error = await rejectionOf(
      fetchFrom((_request, response) => {
        response.once('close', closed);
        response.writeHead(200, { 'content-length': 900_000 }).write(Buffer.alloc(5_000, 'x'));
      }),
    );
    expect(error).toEqual(refusal('is not a PNG'));
    await isClosed;
  });

  it('that does not answer in time is refused', async () => {
    const error = await rejectionOf(fetchFrom(() => undefined, { totalMs: 50 }));
    expect(error).toEqual(refusal('took too long'));
  });

  it('is aborted with the caller’s own reason', async () => {
    const gone = new AbortController();
    const reason = new Error('the client has gone');
    const error = await rejectionOf(fetchFrom(() => gone.abort(reason), { signal: gone.signal }));
    expect(error).toBe(reason);
  });

  it.each([
    ['a private host', 'https://10.0.0.1/a.png', 'is not a public address'],
    ['a private host on another port', 'https://10.0.0.1:8443/a.png', 'is not a public address'],
    ['this machine', 'http://localhost:3000/a.png', 'ALLOW_LOOPBACK_URLS=true'],
    ['this machine, in disguise', 'https://2130706433/a.png', 'ALLOW_LOOPBACK_URLS=true'],
    ['plain http', 'http://example.com/a.png', 'is not an https:// URL without'],
    ['a password', 'https://user:secret@example.com/a.png', 'without user name and password'],
    ['files', 'file:///etc/passwd', 'must be an https:// URL or a data:'],
    ['nothing', 'fox.png', 'must be an https:// URL or a data:'],
  ])('of %s is refused', async (_name, url, words) => {
    const { download } = openOutbound({ allowsLoopback: false });
    const error = await rejectionOf(createFetchInput({ download })(url, imageOptions));
    expect(error).toEqual(refusal(words));
    expect(String(error)).not.toContain('secret');
  });

  it('that redirects to a private host is refused', async () => {
    const error = await rejectionOf(
      fetchFrom(
        (_request, response) =>
          void response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data' }).end(),
      ),
    );
    expect(error).toEqual(refusal('is not a public address'));
  });

  it.each([
    'bad_url',
    'loopback',
    'not_public',
    'unresolved',
    'unreachable',
    'bad_certificate',
    'timeout',
    'too_many_redirects',
    'bad_status',
    'encoded',
    'too_large',
    'broken_off',
  ] satisfies OutboundFailure[])('that fails with %s is refused in words of ours', async (failure) => {
    const download = () => Promise.reject(new OutboundError(failure, 'words of elsewhere'));
    const error = await rejectionOf(createFetchInput({ download })('https://example.com', imageOptions));
    expect(error).toMatchObject({ code: 'invalid_parameter' });
    expect(String(error)).not.toContain('elsewhere');
  });

  it('that cannot be asked now because others are in line is answered with 503', async () => {
    const download = () => Promise.reject(new OutboundError('busy', 'busy'));
    const error = await rejectionOf(createFetchInput({ download })('https://example.com', imageOptions));
    expect(error).toMatchObject({ code: 'overloaded', status: 503 });
  });

  it('waits while the images of others fill the memory for them', async () => {
    const arrivals: ServerResponse[] = [];
    let arrived = (): void => undefined;
    const origin = await startHttp((_request, response) => {
      arrivals.push(response);
      arrived();
    });
    const { download } = openOutbound();
    const fetchInput = createFetchInput({ download, memoryBytes: 2 * imageOptions.maxBytes });
    const nextArrival = (): Promise<void> => new Promise((resolve) => (arrived = resolve));
    const two = nextArrival();
    const fetching = [1, 2, 3].map((index) => fetchInput(`${origin}/${index}`, imageOptions));
    await two;
    if (arrivals.length < 2) await nextArrival();
    expect(arrivals).toHaveLength(2);
    const third = nextArrival();
    arrivals[0]?.end(png);
    await third;
    for (const response of arrivals.slice(1)) response.end(png);
    expect(await Promise.all(fetching)).toHaveLength(3);
  });

  it('is fetched for one account while the hosts of another account’s images answer nothing', async () => {
    const asked: (string | undefined)[] = [];
    const origin = await startHttp((request, response) => {
      asked.push(request.url);
      if (request.url === '/quick') response.end(png);
    });
    const { download } = openOutbound();
    const fetchInput = createFetchInput({ download, memoryBytes: 4 * imageOptions.maxBytes });
    const gone = new AbortController();
    const slow = { ...imageOptions, accountId: 'slow', signal: gone.signal };
    const hanging = Promise.allSettled([1, 2, 3, 4].map((index) => fetchInput(`${origin}/${index}`, slow)));
    await expect.poll(() => asked).toHaveLength(3);
    await fetchInput(`${origin}/quick`, { ...imageOptions, accountId: 'quick' });
    expect(new Set(asked)).toEqual(new Set(['/1', '/2', '/3', '/quick']));
    gone.abort(new Error('enough'));
    await hanging;
  });
});

describe('a video that is streamed', () => {
  const options = { ...imageOptions, kinds: ['video'] as const, param: 'content.0', maxBytes: 1024 ** 2 };

  it('comes chunk by chunk and whole', async () => {
    const { download } = openOutbound();
    const video = Buffer.concat([mp4, Buffer.alloc(900_000, 5)]);
    const url = `${await startHttp(answering(video, 'video/mp4'))}/clip.mp4`;
    const { contentType, source } = await createStreamInput({ download })(url, options);
    expect(contentType).toBe('video/mp4');
    const chunks: Uint8Array[] = [];
    for await (const chunk of source as AsyncIterable<Uint8Array>) chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(1);
    expect(Buffer.concat(chunks).equals(video)).toBe(true);
  });

  it('throws its refusal to the reader when it grows too large', async () => {
    const { download } = openOutbound();
    const url = await startHttp((_request, response) => {
      response.write(mp4);
      response.end(Buffer.alloc(1024 ** 2));
    });
    const { source } = await createStreamInput({ download })(`${url}/clip.mp4`, options);
    const reading = (async () => {
      for await (const chunk of source as AsyncIterable<Uint8Array>) expect(chunk.length).toBeGreaterThan(0);
    })();
    expect(await rejectionOf(reading)).toMatchObject({
      code: 'invalid_parameter',
      message: 'content.0: is larger than 1 MB',
    });
  });
});

describe('an account', () => {
  it('is known to whoever downloads for it, of an image and of a video alike', async () => {
    const known: (string | undefined)[] = [];
    const download: Outbound['download'] = async (_url, { accountId }) => {
      known.push(accountId);
      throw new OutboundError('busy', 'no place');
    };
    const options = { ...imageOptions, accountId: 'account-1' };
    const url = 'https://example.com/x';
    const failures = [
      await rejectionOf(createFetchInput({ download })(url, options)),
      await rejectionOf(createStreamInput({ download })(url, { ...options, kinds: ['video'] })),
    ];
    expect(known).toEqual(['account-1', 'account-1']);
    expect(failures).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }]);
  });
});

describe('the largest inputs', () => {
  it('have 20 MB as images and sounds, and 100 MB as videos', () => {
    const megabyte = 1024 ** 2;
    expect(maxInputBytes).toEqual({ image: 20 * megabyte, audio: 20 * megabyte, video: 100 * megabyte });
  });
});
