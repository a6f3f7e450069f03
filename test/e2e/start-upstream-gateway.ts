import type { Log } from '../../src/kit/log.ts';
import { openAccount } from '../mcp/open-account.ts';
import { startStubUpstream, type StubUpstream } from '../providers/stub-upstream.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

export interface UpstreamGateway {
  gateway: TestGateway;
  /** What the SKU `textmodel-3.5-flash` is served from, as `upstream-name`. */
  upstream: StubUpstream;
  /** Of an account with ten dollars. */
  apiKey: string;
  accountId: string;
  /** A chat completion: by default a short question. */
  ask(body?: object, headers?: Record<string, string>): Promise<Response>;
  /** The bodies that the upstream has been asked with, and forgets by this. */
  takeAsked(): Record<string, unknown>[];
  balance(): Promise<string>;
  stop(): Promise<void>;
}

/** A gateway that sells one text model of an upstream on loopback; `more` is YAML of further settings of the model. */
export const startUpstreamGateway = async (
  environment: Record<string, string> = {},
  more = '',
  log?: Log,
): Promise<UpstreamGateway> => {
  const upstream = await startStubUpstream();
  const gateway = await startTestGateway({
    ...(log === undefined ? {} : { log }),
    environment: { UPSTREAM_KEY: 'upstream-secret', ...environment },
    yaml: `
providers:
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key_env: UPSTREAM_KEY }
models:
  textmodel-3.5-flash:
    kind: chat
    price: { unit: token, input_usd_per_1m: "1.05", output_usd_per_1m: "6.30" }
    routes: [{ provider: up, model: upstream-name }]
    ${more}
`,
  });
  const { apiKey, accountId } = await openAccount(gateway.services);
  return {
    gateway,
    upstream,
    apiKey,
    accountId,
    ask: (body = {}, headers = {}) =>
      gateway.call('/v1/chat/completions', {
        apiKey,
        headers,
        body: { messages: [{ role: 'user', content: 'Hello' }], ...body },
      }),
    takeAsked: () =>
      upstream.requests
        .splice(0)
        .filter(({ path }) => path === '/v1/chat/completions')
        .map(({ body }) => body as Record<string, unknown>),
    balance: async () => {
      const answer = await gateway.call('/v1/balance', { apiKey });
      return ((await answer.json()) as { balance_usd: string }).balance_usd;
    },
    stop: async () => {
      await gateway.stop();
      await upstream.close();
    },
  };
};
