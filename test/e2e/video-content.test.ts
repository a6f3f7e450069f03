import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureVideo } from '../../src/providers/video/measure-video.ts';
import { openCustomer, page, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';
import { bytesOf, film, videoCalls } from './video-calls.ts';

let gateway: TestGateway;
/** Of the account whose film the tests look at. */
let apiKey: string;
let made: Body;

beforeAll(async () => {
  gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
  });
  ({ apiKey } = await openCustomer(gateway));
  made = await whenEnded(await create({ ...film, return_last_frame: true }));
});
afterAll(() => gateway.stop());

const { create, whenEnded, content, historyOf } = videoCalls(() => ({ gateway, apiKey }));

describe('the content of a completed video', () => {
  it('is a film of the asked length and size, with all that a player wants to know', async () => {
    const answer = await content(made);
    expect(answer.status).toBe(200);
    const bytes = await bytesOf(answer);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'video/mp4',
      'content-length': String(bytes.length),
      'accept-ranges': 'bytes',
      'content-disposition': `attachment; filename="${String(made['id'])}.mp4"`,
      'x-content-type-options': 'nosniff',
      'cache-control': 'private',
      etag: expect.stringMatching(/^"\w+"$/),
    });
    expect(await measureVideo(bytes)).toEqual({ seconds: 4, width: 854, height: 480 });
  });

  it('is answered in one part, and only while it is the same content', async () => {
    const whole = await content(made);
    const bytes = await bytesOf(whole);
    const etag = whole.headers.get('etag') ?? '';
    const range = 'bytes=100-199';
    const part = await content(made, { headers: { range } });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes 100-199/${bytes.length}`);
    expect((await bytesOf(part)).equals(bytes.subarray(100, 200))).toBe(true);
    expect((await content(made, { headers: { range, 'if-range': etag } })).status).toBe(206);
    expect((await content(made, { headers: { range, 'if-range': '"another"' } })).status).toBe(200);
    for (const wrong of ['bytes=0-1,5-6', `bytes=${bytes.length}-`]) {
      const refused = await content(made, { headers: { range: wrong } });
      expect(refused.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
      expect(await refusal(refused)).toMatchObject({ status: 416, code: 'range_not_satisfiable' });
    }
    const head = await content(made, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(bytes.length),
      '',
    ]);
  });

  it('has the last frame beside it', async () => {
    expect(made).toMatchObject({ has_last_frame: true });
    const answer = await content(made, { query: '?variant=last_frame' });
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(await sharp(await bytesOf(answer)).metadata()).toMatchObject({ width: 854, height: 480 });
    expect(await refusal(await content(made, { query: '?variant=first_frame' }))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      param: 'variant',
    });
  });

  it('is there for its account only, as is the video itself', async () => {
    const other = await openCustomer(gateway);
    for (const [video, key] of [
      [made, other.apiKey],
      [{ id: crypto.randomUUID() }, apiKey],
      [{ id: 'nothing' }, apiKey],
    ] as const) {
      expect(await refusal(await content(video, { key }))).toMatchObject({
        status: 404,
        code: 'video_not_found',
      });
      const path = `/v1/videos/${String(video['id'])}`;
      expect(await refusal(await gateway.call(path, { apiKey: key }))).toMatchObject({
        status: 404,
        code: 'video_not_found',
      });
    }
    for (const key of [null, 'sk_causeway_wrong'])
      expect(await refusal(await content(made, { key }))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
  });
});

describe('a video whose bytes were lost', () => {
  const fileOf = async (video: Body): Promise<string> => {
    const media = await gateway.services.store.listMedia(String(video['id']));
    const { id } = media.find(({ role }) => role === 'video') ?? { id: '' };
    return join(gateway.services.config.dataDir, 'media', id.slice(0, 2), id);
  };

  it.each([0, 1_000])('in part, down to %i, is paid back before any of them is sent', async (left) => {
    const cut = await whenEnded(await create(film));
    await truncate(await fileOf(cut), left);
    for (const range of ['bytes=0-9', 'bytes=2000-']) {
      const answer = await content(cut, { headers: { range } });
      expect(answer.status).toBe(502);
      expect(await answer.json()).toMatchObject({
        error: { message: expect.stringContaining('it is lost. The charge of $0.08 was given back.') },
      });
    }
    expect(await historyOf(cut)).toMatchObject({ billing_status: 'refunded', refunded_usd: '0.08' });
  });

  it('is paid back once, however often and by however many it is asked for', async () => {
    const before = await read(gateway, '/v1/balance', apiKey);
    await rm(await fileOf(made));
    expect((await content(made, { query: '?variant=last_frame' })).status).toBe(200);
    expect(await historyOf(made)).toMatchObject({ billing_status: 'charged' });

    for (const asked of [2, 1])
      for (const answer of await Promise.all(Array.from({ length: asked }, () => content(made)))) {
        expect(answer.status).toBe(502);
        expect(await answer.json()).toEqual({
          error: {
            type: 'server_error',
            code: 'upstream_error',
            message:
              'The content could not be fetched safely: it is lost. The charge of $0.08 was given back. ' +
              'Make the video again.',
          },
        });
      }
    expect(await historyOf(made)).toMatchObject({
      status: 'done',
      billing_status: 'refunded',
      charged_usd: '0.08',
      refunded_usd: '0.08',
      net_spent_usd: '0.00',
    });
    const refunds = (await page(gateway, '/v1/transactions', apiKey)).data.filter(
      ({ type, job_id: id }) => type === 'refund' && id === made['id'],
    );
    expect(refunds).toMatchObject([{ amount_usd: '0.08', job_id: made['id'] }]);
    const after = await read(gateway, '/v1/balance', apiKey);
    expect(Number(after['balance_usd']) - Number(before['balance_usd'])).toBeCloseTo(0.08, 9);
    expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  });
});
