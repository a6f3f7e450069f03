import { randomUUID } from 'node:crypto';
import { devNull } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/kit/json.ts';
import type { DescribedOperation } from '../../src/operations/definition.ts';
import { rulesOf } from '../../src/operations/sale-rules.ts';
import { verbs } from '../../src/operator/verbs.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from '../mounts/accept-tools.ts';
import { mountYaml } from '../mounts/mount-yaml.ts';
import { issueOperator, signInTo } from '../rest/console/console-client.ts';
import { connectAssistant } from '../store/connect-assistant.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

const shop = fileURLToPath(new URL('../mounts/shop-server.mjs', import.meta.url));

/** Somebody who calls. Each call comes from an address of its own, so that no limit of failed calls hides an answer. */
type Caller = (call: { path: string; method: string; body: JsonObject | undefined }) => Promise<Response>;

let gateway: TestGateway;
let owner: Awaited<ReturnType<typeof openAccount>>;
let foreign: Awaited<ReturnType<typeof openAccount>>;
let ids: Record<string, string>;
/** Those who belong nowhere, or elsewhere: by the header that they send. */
let keys: Record<
  'none' | 'garbage' | 'owner' | 'foreign' | 'limited' | 'connection' | 'read' | 'write',
  Caller
>;
let sessions: Record<'none' | 'owner' | 'foreign' | 'read' | 'write', Caller>;

const nextAddress = (): string => {
  const bytes = randomUUID().replaceAll('-', '').slice(0, 6).match(/../g) ?? [];
  return `10.${bytes.map((byte) => Number.parseInt(byte, 16)).join('.')}`;
};

const send =
  (headers: Readonly<Record<string, string>>): Caller =>
  ({ path, method, body }) =>
    fetch(gateway.url + path, {
      method,
      headers: {
        ...headers,
        'x-forwarded-for': nextAddress(),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

const byKey = (key: string): Caller => send({ authorization: `Bearer ${key}` });
const bySession = (cookie: string): Caller =>
  send({ cookie, origin: gateway.url, 'sec-fetch-site': 'same-origin' });

const made = async (path: string, body: JsonObject): Promise<Record<string, string>> =>
  (await (await gateway.call(path, { apiKey: owner.apiKey, body })).json()) as Record<string, string>;

/** What the owner has, by the names of the fields in paths. */
const makeThings = async (): Promise<Record<string, string>> => {
  const image = await made('/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'A pier' });
  const response = await made('/v1/responses', { model: 'textmodel-3.5-flash', input: 'Hello' });
  const video = await made('/v1/videos', { model: 'videomodel-2.0', prompt: 'A pier', duration: 4 });
  const key = await made('/v1/keys', { label: 'victim' });
  const event = await made('/v1/webhooks/test', { url: 'https://shop.example/hooks' });
  const { connectionId } = await connectAssistant(gateway.services.store, {
    accountId: owner.accountId,
    now: Date.now(),
  });
  const things = {
    job_id: image['id'],
    receipt_id: image['id'],
    response_id: response['id'],
    video_id: video['id'],
    key_id: key['id'],
    event_id: event['event_id'],
    connection_id: connectionId,
  };
  for (const [name, id] of Object.entries(things)) expect([name, typeof id]).toEqual([name, 'string']);
  return { ...(things as Record<string, string>), server: 'shop', tool: 'work' };
};

beforeAll(async () => {
  gateway = await startTestGateway({
    yaml: mountYaml({ shop: { args: [shop], env: ['RUNS_FILE'], prices: { work: '0.01' } } }),
    environment: {
      WALLET_ACCOUNTS: 'on',
      RUNS_FILE: devNull,
      SEARCH_FROM_BALANCE: 'on',
      TRUSTED_PROXY_HOPS: '1',
      REQUESTS_PER_MINUTE: '100000',
    },
  });
  const { services, url } = gateway;
  [owner, foreign] = [await openAccount(services), await openAccount(services)];
  ids = await makeThings();
  const [read, write] = [await issueOperator(services, 'read'), await issueOperator(services, 'write')];
  const limited = await made('/v1/keys', { label: 'limited', budget_day_usd: '1' });
  const { token } = await connectAssistant(services.store, { ...owner, now: Date.now() });
  keys = {
    none: send({}),
    garbage: byKey('sk_causeway_wrong'),
    owner: byKey(owner.apiKey),
    foreign: byKey(foreign.apiKey),
    limited: byKey(limited['key'] ?? ''),
    connection: byKey(token),
    read: byKey(read.key),
    write: byKey(write.key),
  };
  const cookieOf = async (key: string) => bySession((await signInTo(url, key)).cookie);
  sessions = {
    none: bySession(''),
    owner: await cookieOf(owner.apiKey),
    foreign: await cookieOf(foreign.apiKey),
    read: await cookieOf(read.key),
    write: await cookieOf(write.key),
  };
  await acceptToolsOf(services, 'shop');
}, 90_000);
afterAll(() => gateway.stop());

const namesIn = ({ rest }: DescribedOperation): string[] =>
  [...rest.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

/** The call of an operation's first example, with the ids that are known. */
const callOf = (operation: DescribedOperation, known: Readonly<Record<string, string>>, prefix = '') => {
  const [{ parameters = {}, body }] = operation.docs.examples;
  const { method, path } = operation.rest;
  const valueOf = (name: string): string => {
    const value = known[name] ?? parameters[name] ?? 'x';
    return typeof value === 'string' ? value : JSON.stringify(value);
  };
  const named = namesIn(operation);
  const query = Object.keys(parameters).filter((name) => !named.includes(name));
  return {
    method,
    body: method === 'POST' || method === 'PUT' ? (body ?? {}) : undefined,
    path: `${prefix}${path.replaceAll(/\{(\w+)\}/g, (_part, name: string) => encodeURIComponent(valueOf(name)))}?${String(
      new URLSearchParams(query.map((name): [string, string] => [name, valueOf(name)])),
    )}`,
  };
};

type Expected = readonly number[] | ((status: number) => boolean);

/** Calls each operation as each caller, and lists the answers that are not as they have to be. */
const wrongAnswers = async <Operation extends DescribedOperation>(
  operations: readonly Operation[],
  callers: Readonly<Record<string, Caller>>,
  { prefix = '', expected }: { prefix?: string; expected(operation: Operation, caller: string): Expected },
): Promise<unknown[]> => {
  const wrong: unknown[] = [];
  for (const operation of operations)
    for (const [name, caller] of Object.entries(callers)) {
      const answer = await caller(callOf(operation, ids, prefix));
      const text = await answer.text();
      const wanted = expected(operation, name);
      const isRight = typeof wanted === 'function' ? wanted(answer.status) : wanted.includes(answer.status);
      if (!isRight) wrong.push([operation.name, name, answer.status, text.slice(0, 200)]);
    }
  return wrong;
};

const isNoAnswer = (status: number): boolean => status >= 400;
const isAnyAnswer = (): boolean => true;
const isLetIn = (status: number): boolean => ![401, 403, 405].includes(status) && status < 500;

/** Without a key: an open call is answered, one for sale asks for a payment, and every other one for a key. */
const ofStranger = ({ sale }: DescribedOperation): Expected => {
  const { key, isOpen } = rulesOf(sale);
  if (isOpen) return isAnyAnswer;
  return key === 'needed' ? [401] : isNoAnswer;
};

/** With a key that counts for nothing here. */
const ofWrongKey = (operation: DescribedOperation): Expected =>
  rulesOf(operation.sale).key === 'taken' ? [401] : ofStranger(operation);

describe('every operation of customers', () => {
  it('answers nobody without a key of a customer, at /v1', async () => {
    const { operations } = gateway.services;
    const { garbage, connection, read, write } = keys;
    expect(operations.length).toBeGreaterThan(30);
    const strangers = {
      none: keys.none,
      ownSession: sessions.owner,
      operatorSession: sessions.write,
    };
    expect(await wrongAnswers(operations, strangers, { expected: ofStranger })).toEqual([]);
    const wrongKeys = { garbage, connection, read, write };
    expect(await wrongAnswers(operations, wrongKeys, { expected: ofWrongKey })).toEqual([]);
  });

  it('answers nobody without a session of a customer, at /console', async () => {
    const callers = {
      none: sessions.none,
      key: send({
        authorization: `Bearer ${owner.apiKey}`,
        origin: gateway.url,
        'sec-fetch-site': 'same-origin',
      }),
      operator: sessions.write,
    };
    const { operations } = gateway.services;
    const options = { prefix: '/console', expected: () => [401] };
    expect(await wrongAnswers(operations, callers, options)).toEqual([]);
  });

  it('finds nothing of another account by its id', async () => {
    const shared = ['model', 'server', 'tool'];
    const ofOwner = gateway.services.operations.filter((operation) =>
      namesIn(operation).some((name) => !shared.includes(name)),
    );
    expect(ofOwner.flatMap(namesIn).filter((name) => !shared.includes(name) && !(name in ids))).toEqual([]);
    const notFound = { expected: () => [404] };
    expect(await wrongAnswers(ofOwner, { foreign: keys.foreign }, notFound)).toEqual([]);
    const inConsole = { ...notFound, prefix: '/console' };
    expect(await wrongAnswers(ofOwner, { foreign: sessions.foreign }, inConsole)).toEqual([]);
  });

  it('lets a key with limits do nothing that only a key without them may', async () => {
    // To a tool, its own server may refuse a call.
    const kept = gateway.services.operations.filter(
      ({ name, rest }) => name !== 'call_mounted_tool' && rest.errors.includes('permission_denied'),
    );
    expect(kept.length).toBeGreaterThan(8);
    const expected = () => [403];
    expect(await wrongAnswers(kept, { limited: keys.limited }, { expected })).toEqual([]);
  });

  it('lets its own customer in, by key and by session', async () => {
    // An account with real money takes no test money.
    const operations = gateway.services.operations.filter(({ sale }) => sale.kind !== 'credit');
    const isEnding = ({ rest }: DescribedOperation): boolean => rest.method === 'DELETE';
    // Nobody signs in to the mounted server.
    const isOwn = ({ name }: DescribedOperation): Expected =>
      name === 'end_tool_sign_in' ? [404] : (status: number) => isLetIn(status) && status !== 404;
    const [ending, others] = [operations.filter(isEnding), operations.filter((one) => !isEnding(one))];
    expect(await wrongAnswers(others, { owner: keys.owner }, { expected: isOwn })).toEqual([]);
    const inConsole = { prefix: '/console', expected: isOwn };
    expect(await wrongAnswers([...others, ...ending], { owner: sessions.owner }, inConsole)).toEqual([]);
  });
});

describe('every verb of operators', () => {
  const ofReader = ({ role }: (typeof verbs)[number]): Expected => (role === 'write' ? [403] : isLetIn);

  it('answers nobody without a key of an operator, at /admin/v1', async () => {
    const { none, garbage, owner: customer, limited, connection } = keys;
    const callers = { none, garbage, customer, limited, connection, session: sessions.write };
    expect(await wrongAnswers(verbs, callers, { expected: () => [401] })).toEqual([]);
  });

  it('answers nobody without a session of an operator, at /console/admin', async () => {
    const callers = { none: sessions.none, customer: sessions.owner, key: keys.none };
    const options = { prefix: '/console', expected: () => [401, 403] };
    expect(await wrongAnswers(verbs, callers, options)).toEqual([]);
  });

  it('changes nothing for an operator who may only read, and lets the others in', async () => {
    expect(await wrongAnswers(verbs, { read: keys.read }, { expected: ofReader })).toEqual([]);
    const inConsole = { prefix: '/console', expected: ofReader };
    expect(await wrongAnswers(verbs, { read: sessions.read }, inConsole)).toEqual([]);
    const expected = () => (status: number) => ![401, 403, 405].includes(status);
    expect(await wrongAnswers(verbs, { write: keys.write }, { expected })).toEqual([]);
    expect(await wrongAnswers(verbs, { write: sessions.write }, { prefix: '/console', expected })).toEqual(
      [],
    );
  });
});
