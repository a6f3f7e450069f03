const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
export const usualHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
export const claim = 'io.modelcontextprotocol/protocolVersion';
export const envelope = {
  [claim]: '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface Sent {
  path?: string;
  headers: Record<string, string>;
  body: unknown;
}

export interface Message {
  jsonrpc: string;
  id: unknown;
  method: string;
  params?: Record<string, unknown>;
}

export const legacy = (message: Partial<Message>, headers: Record<string, string> = {}): Sent => ({
  headers: { ...usualHeaders, ...headers },
  body: { jsonrpc: '2.0', id: 1, ...message },
});

export const modern = (
  { params = {}, ...message }: Partial<Message>,
  headers: Record<string, string> = {},
): Sent =>
  legacy(
    { ...message, params: { _meta: envelope, ...params } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': String(message.method),
      ...(typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {}),
      ...headers,
    },
  );

export const call = (name: unknown, input: unknown = {}, more: object = {}): Partial<Message> => ({
  method: 'tools/call',
  params: { name, arguments: input, ...more },
});
const list: Partial<Message> = { method: 'tools/list' };
const ping: Partial<Message> = { method: 'ping' };
const paid = { _meta: { 'x402/payment': { x402Version: 2 } } };
const balance = call('get_balance');
const text2 = { text: 'ü 😀 \u2028 "quoted" \\ </script> \u0007' };

const initialize = (changes: object = {}): Partial<Message> => ({
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
    ...changes,
  },
});
const initialized: Partial<Message> = { method: 'notifications/initialized' };

/** Calls that are answered without the library. */
export const direct: Record<string, Sent> = {
  ...Object.fromEntries(
    [...revisions, '2026-07-28', '2030-01-01', ''].map((protocolVersion) => [
      `an initialization for ${JSON.stringify(protocolVersion)}`,
      legacy(initialize({ protocolVersion })),
    ]),
  ),
  'an initialization with capabilities': legacy(
    initialize({ capabilities: { roots: { listChanged: true }, elicitation: {}, other: 1 } }),
  ),
  'an initialization for the search': { ...legacy(initialize()), path: '/mcp/search' },
  'an initialization for generation': { ...legacy(initialize()), path: '/mcp/generation' },
  'a notification': legacy({ id: undefined, ...initialized }),
  'a notification with empty params': legacy({ id: undefined, ...initialized, params: {} }),
  'a discovery': modern({ method: 'server/discover' }),
  'a discovery for the search': { ...modern({ method: 'server/discover' }), path: '/mcp/search' },
  'a list with a progress token': legacy({ ...list, params: { _meta: { progressToken: 1 } } }),
  'a list since 2026 with a progress token': modern({
    ...list,
    params: { _meta: { ...envelope, progressToken: 'x' } },
  }),
  'a list': legacy(list),
  'a list with empty params': legacy({ ...list, params: {} }),
  'a list with a _meta of its own': legacy({ ...list, params: { _meta: { 'example.com/trace': [1] } } }),
  ...Object.fromEntries(
    revisions.map((revision) => [
      `a list of ${revision}`,
      legacy(list, { 'mcp-protocol-version': revision }),
    ]),
  ),
  'a list with headers of the next revision': legacy(list, { 'mcp-method': 'other', 'mcp-name': 'x' }),
  'a list with a session': legacy(list, { 'mcp-session-id': 'x', 'last-event-id': '1' }),
  'a list for the search': { ...legacy(list), path: '/mcp/search' },
  'a list with a query': { ...legacy(list), path: '/mcp/generation?x=%20#y' },
  'a ping': legacy(ping),
  'an id of text': legacy({ ...ping, id: 'ü"\u2028' }),
  'an id below zero': legacy({ ...ping, id: -7 }),
  'an id of minus zero': { ...legacy({}), body: '{"jsonrpc":"2.0","id":-0,"method":"ping"}' },
  'a call': legacy(balance),
  'a call without arguments': legacy({ method: 'tools/call', params: { name: 'list_models' } }),
  'a call with a charset': legacy(balance, { 'content-type': 'Application/JSON ; charset="utf-8"' }),
  'a call with text': legacy(call('echo', text2)),
  'a call with unknown arguments': legacy(call('echo', { other: { deep: [null] } })),
  'a call with wrong arguments': legacy(call('echo', { text: 7 })),
  'a call with a constructor': legacy(call('echo', { constructor: 1, toString: 2 })),
  'a refused call': legacy(call('refuse')),
  'a failing call': legacy(call('explode')),
  'a payment that is pending': legacy(call('owe')),
  'a search': legacy(call('search_leads', { query: 'coffee' })),
  'a search with a proof': legacy(call('search_leads', { query: 'coffee' }, paid)),
  'a wrong search': legacy(call('search_leads', { limit: 0, qurey: 'coffee' })),
  'a job that is not there': legacy(call('get_job', { job_id: 'x' })),
  'a list since 2026': modern(list),
  'a list since 2026 with a name': modern(list, { 'mcp-name': 'x' }),
  'a list since 2026 without accept': modern(list, { accept: 'text/plain' }),
  'a list since 2026 with a log level': modern({
    ...list,
    params: { _meta: { ...envelope, 'io.modelcontextprotocol/logLevel': 'debug' } },
  }),
  'a list since 2026 of nobody': modern({
    ...list,
    params: { _meta: { [claim]: '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': { roots: {} } } },
  }),
  'a call since 2026': modern(balance),
  'a call since 2026 with unknown arguments': modern(call('echo', { txet: 'x', idempotency_key: 'k' })),
  'a call since 2026 with text': modern(call('echo', text2)),
  'a refused call since 2026': modern(call('refuse')),
  'a pending payment since 2026': modern(call('owe')),
  'a search since 2026': modern(call('search_leads', { query: 'coffee' })),
  'a search since 2026 with a proof': modern(
    call('search_leads', { query: 'coffee' }, { _meta: { ...envelope, ...paid._meta } }),
  ),
};

/** Requests that are the library's. */
export const others: Record<string, Sent> = {
  'an initialization without capabilities': legacy(initialize({ capabilities: undefined })),
  'an initialization with a wrong client': legacy(initialize({ clientInfo: { name: 'test' } })),
  'an initialization with a further member': legacy(initialize({ more: 1 })),
  'an initialization since 2026': modern(initialize()),
  'an initialization without an id': legacy({ id: undefined, ...initialize() }),
  'a call with a progress token': legacy(call('echo', {}, { _meta: { progressToken: 1 } })),
  'a notification with an id': legacy(initialized),
  'a notification since 2026': modern({ ...initialized, id: undefined }),
  'another notification': legacy({ id: undefined, method: 'notifications/cancelled' }),
  'a discovery of the 2025 revisions': legacy({ method: 'server/discover' }),
  'a response': { ...legacy({}), body: { jsonrpc: '2.0', id: 1, result: {} } },
  'another method': legacy({ method: 'resources/list' }),
  'an unknown method': legacy({ method: 'constructor' }),
  'a ping since 2026': modern(ping),
  'a batch': { ...legacy({}), body: [{ jsonrpc: '2.0', id: 1, ...ping }] },
  'an empty batch': { ...legacy({}), body: [] },
  'a batch since 2026': { ...modern(list), body: [modern(list).body] },
  'a text': { ...legacy({}), body: 'text' },
  null: { ...legacy({}), body: null },
  'another version of JSON-RPC': legacy({ ...ping, jsonrpc: '1.0' }),
  'a further member': legacy({ ...ping, extra: 1 } as Partial<Message>),
  'a missing id': legacy({ ...list, id: undefined }),
  ...Object.fromEntries(
    [null, 1.5, 2 ** 53, true, {}, []].map((id) => [`the id ${JSON.stringify(id)}`, legacy({ ...ping, id })]),
  ),
  ...Object.fromEntries(
    [null, [], 'x', 1].map((params) => [
      `the params ${JSON.stringify(params)}`,
      { ...legacy({}), body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params } },
    ]),
  ),
  ...Object.fromEntries(
    [null, [], 'x', { progressToken: 1.5 }, { progressToken: {} }, { [claim]: '2025-06-18' }, envelope].map(
      (meta) => [`the _meta ${JSON.stringify(meta)}`, legacy({ ...list, params: { _meta: meta } })],
    ),
  ),
  ...Object.fromEntries(
    [undefined, null, 1, '', 'nothing', 'constructor', '__proto__'].map((name) => [
      `the tool ${JSON.stringify(name)}`,
      legacy(call(name)),
    ]),
  ),
  ...Object.fromEntries(
    [null, [], 'x', 1].map((input) => [
      `the arguments ${JSON.stringify(input)}`,
      legacy(call('echo', input)),
    ]),
  ),
  'arguments that name a prototype': {
    ...legacy({}),
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"text":"x"}}}}',
  },
  'a task': legacy(call('echo', {}, { task: { ttl: 1 } })),
  'a cursor': legacy({ ...list, params: { cursor: 'x' } }),
  'an answer to a question': modern(call('echo', {}, { inputResponses: {}, requestState: 'x' })),
  'another group': { ...legacy(balance), path: '/mcp/search' },
  'no JSON': { ...legacy({}), body: '{"jsonrpc":' },
  'no body': { ...legacy({}), body: '' },
  'a byte order mark': { ...legacy({}), body: `\uFEFF${JSON.stringify(legacy(ping).body)}` },
  'another content type': legacy(list, { 'content-type': 'text/plain' }),
  'two content types': legacy(list, { 'content-type': 'application/json, text/plain' }),
  'no accept': legacy(list, { accept: '*/*' }),
  'half an accept': legacy(list, { accept: 'application/json' }),
  'an unknown revision': legacy(list, { 'mcp-protocol-version': '2025-01-01' }),
  'an empty revision': legacy(list, { 'mcp-protocol-version': '' }),
  'a future revision': legacy(list, { 'mcp-protocol-version': '2027-01-01' }),
  'a revision without its envelope': legacy(list, { 'mcp-protocol-version': '2026-07-28' }),
  'a host that is none': legacy(list, { host: 'a b' }),
  'a host of numbers': legacy(list, { host: '1.2.3.4.5' }),
  'a host with a user': legacy(list, { host: 'user@localhost' }),
  'an empty host': legacy(list, { host: '' }),
  'a missing method header': modern(list, { 'mcp-method': '' }),
  'another method header': modern(list, { 'mcp-method': 'tools/call' }),
  'another name header': modern(balance, { 'mcp-name': 'echo' }),
  'a name in base64': modern(balance, { 'mcp-name': '=?base64?Z2V0X2JhbGFuY2U=?=' }),
  'another revision in the header': modern(list, { 'mcp-protocol-version': '2025-11-25' }),
  'another revision in the envelope': modern({
    ...list,
    params: { _meta: { ...envelope, [claim]: '2027-01-01' } },
  }),
  'an envelope without capabilities': modern({ ...list, params: { _meta: { [claim]: '2026-07-28' } } }),
  'an envelope with a wrong client': modern({
    ...list,
    params: { _meta: { ...envelope, 'io.modelcontextprotocol/clientInfo': { name: 1 } } },
  }),
  'an envelope with a progress token': modern(call('echo', {}, { _meta: { ...envelope, progressToken: 1 } })),
};
