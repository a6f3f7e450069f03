import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { dataUri, makeBomb, makeImage, svg } from '../media/input-images.ts';
import { startHttp } from '../http/local-hosts.ts';
import { startUpstreamGateway, type UpstreamGateway } from './start-upstream-gateway.ts';
import { createAccount } from '../store/builders.ts';
import { issueKey } from '../../src/accounts/keys.ts';

let up: UpstreamGateway;
let png: Buffer;
let jpeg: Buffer;
let gif: Buffer;

beforeAll(async () => {
  up = await startUpstreamGateway({ ALLOW_LOOPBACK_URLS: 'true' });
  png = await makeImage('png');
  jpeg = await makeImage('jpeg');
  gif = await makeImage('gif');
});

beforeEach(() => void up.takeAsked());

afterAll(() => up.stop());

const image = (url: string, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } });

const look = (urls: string[], headers: Record<string, string> = {}): Promise<Response> =>
  up.ask(
    {
      messages: [
        { role: 'system', content: 'Describe.' },
        { role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...urls.map((url) => image(url))] },
      ],
    },
    headers,
  );

type Serve = (request: IncomingMessage, response: ServerResponse) => void;
const answering =
  (bytes: Uint8Array, contentType = 'image/png'): Serve =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': contentType }).end(bytes);
const redirecting =
  (location: string): Serve =>
  (_request, response) =>
    void response.writeHead(302, { location }).end();

/** The address of an image on a server that answers so. */
const served = async (serve: Serve): Promise<string> => `${await startHttp(serve)}/picture.png`;

describe('an image that a message names by its address', () => {
  it('reaches the upstream as bytes in its place, never as the address', async () => {
    const first = await served(answering(png));
    const second = await served(answering(jpeg, 'application/octet-stream'));
    const inline = dataUri('image/png', png);
    const messages = [
      { role: 'user', content: [image(first, { detail: 'low' }), { type: 'text', text: 'one' }] },
      { role: 'assistant', content: 'A square.' },
      { role: 'user', content: [image(inline), { type: 'text', text: 'two' }, image(second)] },
    ];
    const answer = await up.ask({ messages });
    expect(answer.status).toBe(200);
    const [asked] = up.takeAsked();
    expect(asked?.['messages']).toEqual([
      { role: 'user', content: [image(inline, { detail: 'low' }), { type: 'text', text: 'one' }] },
      { role: 'assistant', content: 'A square.' },
      {
        role: 'user',
        content: [image(inline), { type: 'text', text: 'two' }, image(dataUri('image/jpeg', jpeg))],
      },
    ]);
    expect(JSON.stringify(asked)).not.toContain('http');
  });

  it('reaches the upstream as PNG or JPEG where it is a GIF or an AVIF, by its address or in the request', async () => {
    const avif = await makeImage('avif');
    const urls = [
      await served(answering(gif, 'image/gif')),
      await served(answering(avif, 'image/avif')),
      dataUri('image/gif', gif),
      dataUri('image/avif', avif),
    ];
    expect((await look(urls)).status).toBe(200);
    const [asked] = up.takeAsked();
    const messages = asked?.['messages'] as { content: { image_url?: { url: string } }[] }[] | undefined;
    const types = messages?.[1]?.content.flatMap(({ image_url: part }) =>
      part === undefined ? [] : [part.url.split(';')[0]],
    );
    expect(types).toEqual(['data:image/png', 'data:image/jpeg', 'data:image/png', 'data:image/jpeg']);
  });

  it('is found behind a redirect', async () => {
    const url = await served(redirecting(await served(answering(png))));
    expect((await look([url])).status).toBe(200);
    expect(JSON.stringify(up.takeAsked())).toContain(png.toString('base64'));
  });

  it('is not asked for again by a replay, even when it has gone', async () => {
    let fetched = 0;
    const url = await served((_request, response) => {
      fetched += 1;
      response.writeHead(fetched === 1 ? 200 : 404).end(png);
    });
    const headers = { 'idempotency-key': 'picture' };
    const first = await look([url], headers);
    const completion = await first.json();
    const again = await look([url], headers);
    expect([first.status, again.status, fetched]).toEqual([200, 200, 1]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toEqual(completion);
    const other = await look([`${url}?other`], headers);
    expect([other.status, fetched]).toEqual([409, 1]);
    expect(up.takeAsked()).toHaveLength(1);
  });

  it('is not asked for when the account cannot pay for the least answer', async () => {
    let fetched = 0;
    const url = await served((_request, response) => {
      fetched += 1;
      response.end(png);
    });
    const { services } = up.gateway;
    const { id: accountId } = await createAccount(services, { name: 'poor', status: 'active' });
    const issued = await issueKey(services, { accountId, label: '', brand: 'causeway' });
    if (issued.outcome !== 'issued') throw new Error(issued.outcome);
    const refused = await up.gateway.call('/v1/chat/completions', {
      apiKey: issued.key,
      body: { messages: [{ role: 'user', content: [image(url)] }] },
    });
    expect([refused.status, fetched]).toEqual([402, 0]);
    expect(await refused.json()).toMatchObject({ error: { code: 'insufficient_balance' } });
  });

  it('is let go when the client leaves, and nothing is begun', async () => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const url = await served((_request, response) => {
      response.on('close', closed.resolve);
      arrived.resolve();
    });
    const leaving = new AbortController();
    const asking = fetch(`${up.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${up.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: [image(url)] }] }),
      signal: leaving.signal,
    });
    await arrived.promise;
    leaving.abort();
    await expect(asking).rejects.toThrow('aborted');
    await closed.promise;
    expect(await up.gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
    expect(up.takeAsked()).toEqual([]);
  });
});

describe('an image that cannot be had is a 422 on its place, without a hold', () => {
  it.each<[string, string | (() => Promise<string>), string]>([
    ['a private address', 'https://10.0.0.7/a.png', 'not a public address'],
    ['the metadata address', 'https://169.254.169.254/latest', 'not a public address'],
    ['a private IPv6 address', 'https://[fd00::1]/a.png', 'not a public address'],
    ['plain HTTP in the world', 'http://203.0.114.1/a.png', 'is not an https:// URL'],
    ['a name and password', 'https://me:secret@example.com/a.png', 'without user name and password'],
    ['a broken address', 'https://', 'is not an https:// URL'],
    [
      'a redirect to a private address',
      () => served(redirecting('https://192.168.1.1/a.png')),
      'not a public address',
    ],
    ['a redirect to a file', () => served(redirecting('file:///etc/passwd')), 'is not an https:// URL'],
    ['redirects without end', () => served(redirecting('/picture.png')), 'redirects too often'],
    ['a page', () => served(answering(Buffer.from('<html>secret</html>'), 'text/html')), 'is not a PNG'],
    ['SVG', () => served(answering(svg, 'image/svg+xml')), 'is not a PNG'],
    ['another type than it says', () => served(answering(png, 'text/html')), 'declared as another type'],
    [
      'a page that is called PNG',
      async () => dataUri('image/png', Buffer.from('<html>secret</html>')),
      'is not a PNG',
    ],
    ['a GIF that is called PNG', async () => dataUri('image/png', gif), 'holds image/gif but is declared'],
    [
      'an AVIF that is called WebP',
      async () => dataUri('image/webp', await makeImage('avif')),
      'holds image/avif but is declared',
    ],
    ['half an image', () => served(answering(png.subarray(0, png.length / 2))), 'broken or cut off'],
    ['nothing', () => served(answering(Buffer.alloc(0))), 'is empty'],
    ['too many pixels', () => served(answering(makeBomb(8_000, 8_000))), 'million pixels'],
    [
      'too many bytes',
      () =>
        served((_request, response) =>
          response.writeHead(200, { 'content-length': String(20 * 1024 ** 2 + 1) }).write(png),
        ),
      'is larger than 20 MB',
    ],
    ['an error', () => served((_request, response) => response.writeHead(404).end()), 'did not answer with'],
    [
      'an answer that breaks off',
      () =>
        served((_request, response) =>
          response
            .writeHead(200, { 'content-length': '90000' })
            .write(png, () => response.socket?.resetAndDestroy()),
        ),
      'broke off the answer',
    ],
    // A port on which nobody listens.
    ['nobody', 'http://127.0.0.1:1/a.png', 'could not be reached'],
  ])('when there is %s', async (_what, bad, words) => {
    const good = await served(answering(png));
    const before = await up.balance();
    const answer = await look([good, typeof bad === 'string' ? bad : await bad()]);
    const param = 'messages.1.content.2.image_url.url';
    expect(answer.status).toBe(422);
    expect(await answer.json()).toEqual({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_parameter',
        message: expect.stringMatching(new RegExp(`^${param}: .*${words}`)),
        param,
      },
      detail: [
        {
          loc: ['body', 'messages', 1, 'content', 2, 'image_url', 'url'],
          msg: expect.stringContaining(words),
          type: 'value_error',
        },
      ],
    });
    expect(up.takeAsked()).toEqual([]);
    expect(await up.balance()).toBe(before);
    expect(await up.gateway.services.store.checkLedger()).toMatchObject({ problems: [], openHolds: 0 });
  });

  it('when there are more than 32 of them; and none is asked for', async () => {
    let fetched = 0;
    const url = await served((request, response) => {
      fetched += 1;
      answering(png)(request, response);
    });
    const refused = await look(Array.from({ length: 33 }, () => url));
    expect([refused.status, fetched]).toEqual([422, 0]);
    expect(await refused.json()).toMatchObject({ error: { param: 'messages.1.content.33.image_url.url' } });
    expect((await look(Array.from({ length: 32 }, () => url))).status).toBe(200);
    expect(fetched).toBe(32);
  });
});
