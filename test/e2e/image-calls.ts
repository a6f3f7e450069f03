import sharp from 'sharp';
import { expect } from 'vitest';
import { nanoPerUsd } from '../../src/kit/money.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream } from '../providers/stub-upstream.ts';
import { read, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const imageModel = (provider: string): string =>
  `{ kind: image, price: { unit: call, price_usd: "0.04" }, routes: [{ provider: ${provider}, model: gpt-image-1 }] }`;

/** A gateway whose account has sandbox credit; `selling`: the same with an account that buys real models. */
export const startImageGateway = async () => {
  const upstream = await startStubUpstream();
  const gateway = await startTestGateway({
    environment: { ALLOW_LOOPBACK_URLS: 'true', REQUESTS_PER_MINUTE: '100000' },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}" }
models:
  imagemodel-1.0: ${imageModel('sandbox')}
  upstream-image: ${imageModel('up')}
  textmodel-3.5-flash: { kind: chat, price: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 1 }, routes: [{ provider: sandbox }] }
`,
  });
  const amount = 1_000n * nanoPerUsd;
  const selling = { ...gateway, apiKey: (await openAccount(gateway.services, { amount })).apiKey };
  gateway.apiKey = (await openAccount(gateway.services, { amount, isSandbox: true })).apiKey;
  return {
    upstream,
    gateway,
    selling,
    stop: async (): Promise<void> => {
      await gateway.stop();
      await upstream.close();
    },
  };
};

export const path = '/v1/images/generations';
export const plain = { model: 'imagemodel-1.0', prompt: 'a lighthouse at dusk' };

/** Calls of a gateway's first account, if no other gateway is given. */
export const imageCalls = (usual: () => TestGateway) => {
  const post = (body: unknown, query = '', on = usual()): Promise<Response> =>
    on.call(path + query, { body, apiKey: on.apiKey });
  const get = (address: string, on = usual()): Promise<Body> => read(on, address, on.apiKey);
  return {
    post,
    get,
    make: async (more: Body = {}, query = '', on = usual()): Promise<Body> => {
      const response = await post({ ...plain, ...more }, query, on);
      const job = (await response.json()) as Body;
      expect([response.status, job]).toEqual([
        query === '' ? 200 : 202,
        expect.objectContaining({ id: job['id'] }),
      ]);
      return job;
    },
    untilEnd: async (id: unknown, on = usual()): Promise<Body> => {
      let job: Body = {};
      await expect
        .poll(async () => (job = await get(`/v1/jobs/${String(id)}`, on))['status'])
        .toMatch(/^(done|failed)$/);
      return job;
    },
    available: async (): Promise<string> => String((await get('/v1/balance'))['balance_usd']),
  };
};

export const urlOf = (job: Body): string => {
  expect(job).toMatchObject({ status: 'done', data: [{ url: expect.stringMatching(/^http/) }] });
  return (job['data'] as { url: string }[])[0]?.url ?? '';
};

export const pictureOf = async (job: Body): Promise<Buffer> =>
  Buffer.from(await (await fetch(urlOf(job))).arrayBuffer());

/** What a part of a picture mostly is, given in hundredths of its sides. */
export const colourOf = async (picture: Buffer, [from, to]: [number, number]): Promise<string> => {
  const { width, height } = await sharp(picture).metadata();
  const part = sharp(picture).extract({
    left: Math.round((from / 100) * width),
    top: Math.round(height * 0.3),
    width: Math.round(((to - from) / 100) * width),
    height: Math.round(height * 0.2),
  });
  const [r = 0, g = 0, b = 0] = (await sharp(await part.png().toBuffer()).stats()).channels.map(
    ({ mean }) => mean,
  );
  if (r > g + 60 && r > b + 60) return 'red';
  return g > r + 60 && g > b + 60 ? 'green' : `other (${[r, g, b].map(Math.round).join()})`;
};
