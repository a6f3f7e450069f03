import { expect, vi } from 'vitest';
import { page, read, type Body } from './account-calls.ts';
import type { TestGateway } from './start-test-gateway.ts';

export const film = {
  model: 'videomodel-2.0',
  prompt: 'A harbour at dawn',
  duration: 4,
  resolution: '480p',
};
/** Fails at no cost, so that a test of the request alone makes no film. */
export const unmade = { ...film, prompt: '[sandbox:fail]' };

interface ContentCall {
  headers?: Record<string, string>;
  query?: string;
  key?: string | null;
  method?: string;
}

/** Calls of an account, if no other key is given. */
export const videoCalls = (caller: () => { gateway: TestGateway; apiKey: string }) => {
  const post = (body: object, options: { apiKey?: string; headers?: Record<string, string> } = {}) =>
    caller().gateway.call('/v1/videos', { apiKey: caller().apiKey, body, ...options });
  return {
    post,
    create: async (body: object, apiKey = caller().apiKey): Promise<Body> => {
      const answer = await post(body, { apiKey });
      const video = (await answer.json()) as Body;
      if (answer.status !== 202) throw new Error(JSON.stringify(video));
      return video;
    },
    whenEnded: ({ id }: Body, key = caller().apiKey): Promise<Body> =>
      vi.waitFor(
        async () => {
          const video = await read(caller().gateway, `/v1/videos/${String(id)}`, key);
          expect(video['status']).toMatch(/completed|failed/);
          return video;
        },
        { timeout: 60_000, interval: 100 },
      ),
    content: (
      video: Body,
      { headers = {}, query = '', key = caller().apiKey, method = 'GET' }: ContentCall = {},
    ): Promise<Response> =>
      caller().gateway.call(`/v1/videos/${String(video['id'])}/content${query}`, {
        apiKey: key,
        headers,
        method,
      }),
    historyOf: async (video: Body, key = caller().apiKey): Promise<Body | undefined> =>
      (await page(caller().gateway, '/v1/jobs', key)).data.find(({ id }) => id === video['id']),
  };
};

export const bytesOf = async (answer: Response): Promise<Buffer> => Buffer.from(await answer.arrayBuffer());
