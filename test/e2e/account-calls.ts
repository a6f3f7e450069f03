import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { openAccount } from '../mcp/open-account.ts';
import type { TestGateway } from './start-test-gateway.ts';
import { issueKey } from '../../src/accounts/keys.ts';

export type Body = Record<string, unknown>;
export interface Page {
  data: Body[];
  has_more: boolean;
  next_cursor: string | null;
}

export const image = { model: 'imagemodel-1.0', prompt: 'a lighthouse' };

export const read = async (gateway: TestGateway, path: string, apiKey?: string): Promise<Body> =>
  (await (await gateway.call(path, apiKey === undefined ? {} : { apiKey })).json()) as Body;
export const page = async (gateway: TestGateway, path: string, apiKey?: string): Promise<Page> =>
  (await read(gateway, path, apiKey)) as unknown as Page;
export const makeImage = async (gateway: TestGateway, apiKey = gateway.apiKey): Promise<Body> =>
  (await (await gateway.call('/v1/images/generations', { body: image, apiKey })).json()) as Body;

/** What a refused call says, without its text. */
export const refusal = async (response: Response): Promise<Body> => {
  const { error } = (await response.json()) as { error: Body };
  return { status: response.status, code: error['code'], param: error['param'] };
};

export const connectAssistant = async ({ url }: TestGateway, apiKey: string | null): Promise<Client> => {
  const assistant = new Client({ name: 'test-assistant', version: '1' });
  await assistant.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` } },
    }),
  );
  return assistant;
};
export const tool = async (assistant: Client, name: string, input: Body = {}): Promise<Body> =>
  (await assistant.callTool({ name, arguments: input })).structuredContent as Body;

const accountOf = async ({ services }: TestGateway, keyId: string): Promise<string> => {
  for (const { id } of await services.store.listAccounts({ limit: 100 }))
    if ((await services.store.getKey({ id: keyId, accountId: id, now: 0 })) !== null) return id;
  throw new Error(`no account has the key ${keyId}`);
};

/** An account of its own on the shared gateway, with ten dollars and a second key. */
export const openCustomer = async (gateway: TestGateway) => {
  const { apiKey, keyId } = await openAccount(gateway.services);
  const accountId = await accountOf(gateway, keyId);
  const second = await issueKey(gateway.services, { accountId, label: 'second', brand: 'causeway' });
  if (second.outcome !== 'issued') throw new Error(second.outcome);
  return { accountId, apiKey, secondKey: second.key };
};
