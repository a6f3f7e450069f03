import { stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createFetchInput, maxInputBytes, type FetchedInput } from '../../src/media/fetch-input.ts';
import { createStreamInput, type StreamInputOptions } from '../../src/media/stream-input.ts';
import { OutboundError, type Outbound, type OutboundFailure } from '../../src/http/outbound.ts';
import { listen, openOutbound, startHttp } from '../http/local-hosts.ts';
import { makeCertificate } from '../http/make-certificate.ts';
import { rejectionOf } from '../providers/collect.ts';
import { makeBomb, makeImage, makeNoise, svg } from './input-images.ts';
import { asItIs, imageOptions, refusal } from './refused-input.ts';

let png: Buffer;
let noise: Buffer;
const mp4 = Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isommp42', 'latin1');

beforeAll(async () => {
  png = await makeImage('png');
  noise = await makeNoise(700, 500);
});

/** Fetches from a development server that answers so. */
const fetchFrom = async (
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  options: Partial<StreamInputOptions> = {},
): Promise<FetchedInput> => {
  const { download } = openOutbound();
  return createFetchInput({ download })(
    `${await startHttp(serve)}/picture`,
    { ...imageOptions, ...options },
    asItIs,
  );
};

const answering =
  (bytes: Uint8Array, contentType?: string) =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(200, contentType === undefined ? {} : { 'content-type': contentType }).end(bytes);

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
    expect(await trusting(url, imageOptions, asItIs)).toMatchObject({ contentType: 'image/png' });
    const error = await rejectionOf(createFetchInput(openOutbound())(url, imageOptions, asItIs));
    expect(error).toEqual(refusal('the certificate of its host is not valid'));
  });

  it.each([['image/png'], ['application/octet-stream'], [undefined], ['image/png; charset=binary']])(
    'whose answer is declared as %s gives the image',
    async (contentType) => {
      const fetched = await fetchFrom(answering(noise, contentType));
      expect(fetched).toMatchObject({ contentType: 'image/png' });
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
    const error = await rejectionOf(createFetchInput({ download })(url, imageOptions, asItIs));
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
    const error = await rejectionOf(
      createFetchInput({ download })('https://example.com', imageOptions, asItIs),
    );
    expect(error).toMatchObject({ code: 'invalid_parameter' });
    expect(String(error)).not.toContain('elsewhere');
  });

  it('that cannot be asked now because others are in line is answered with 503', async () => {
    const download = () => Promise.reject(new OutboundError('busy', 'busy'));
    const error = await rejectionOf(
      createFetchInput({ download })('https://example.com', imageOptions, asItIs),
    );
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
    const fetching = [1, 2, 3].map((index) => fetchInput(`${origin}/${index}`, imageOptions, asItIs));
    await two;
    if (arrivals.length < 2) await nextArrival();
    expect(arrivals).toHaveLength(2);
    const third = nextArrival();
    arrivals[0]?.end(png);
    await third;
    for (const response of arrivals.slice(1)) response.end(png);
    expect(await Promise.all(fetching)).toHaveLength(3);
  });

  it('fills that memory with its bytes until it has been used', async () => {
    const events: string[] = [];
    const maxBytes = 1024 ** 2;
    const download: Outbound['download'] = async (url) => {
      events.push(`${url} is asked`);
      const body = Readable.from([Buffer.from('ID3'), Buffer.alloc(0.75 * maxBytes)]);
      return { contentType: 'audio/mpeg', body };
    };
    const fetchInput = createFetchInput({ download, memoryBytes: 1.5 * maxBytes });
    const options = { ...imageOptions, kind: 'audio' as const, maxBytes };
    const saving = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const first = fetchInput('https://first.example/', options, async () => {
      begun.resolve();
      await saving.promise;
      events.push('the first is saved');
    });
    await begun.promise;
    const second = fetchInput('https://second.example/', options, asItIs);
    // The download of an input for which there is memory has begun before these files are read.
    for (let reads = 0; reads < 5; reads += 1) await stat('.');
    saving.resolve();
    await Promise.all([first, second]);
    expect(events).toEqual([
      'https://first.example/ is asked',
      'the first is saved',
      'https://second.example/ is asked',
    ]);
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
    const hanging = Promise.allSettled(
      [1, 2, 3, 4].map((index) => fetchInput(`${origin}/${index}`, slow, asItIs)),
    );
    await expect.poll(() => asked).toHaveLength(3);
    await fetchInput(`${origin}/quick`, { ...imageOptions, accountId: 'quick' }, asItIs);
    expect(new Set(asked)).toEqual(new Set(['/1', '/2', '/3', '/quick']));
    gone.abort(new Error('enough'));
    await hanging;
  });
});

describe('a video that is streamed', () => {
  const options = { ...imageOptions, kind: 'video' as const, param: 'content.0', maxBytes: 1024 ** 2 };

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
      await rejectionOf(createFetchInput({ download })(url, options, asItIs)),
      await rejectionOf(createStreamInput({ download })(url, { ...options, kind: 'video' })),
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
