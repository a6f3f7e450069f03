/*
 * All names that telemetry writes. Those of gen_ai.* and mcp.* are the conventions of
 * open-telemetry/semantic-conventions-genai (status: development); no package has them.
 */

/** A metric. Its labels have few values each: never an account, a key, a wallet, or a name that a caller invents. */
export interface MetricDefinition {
  name: string;
  kind: 'counter' | 'histogram' | 'gauge';
  /** `s`, `By`, `1`, or a noun in braces. */
  unit: string;
  labels: readonly string[];
  text: string;
  /** Of a histogram. */
  buckets: readonly number[];
}

/** From fast answers of the store to films. */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const shortSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30];
const tokens = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Maps the members of a table, whose keys stay. */
export const mapValues = <Key extends string, From, To>(
  table: Readonly<Record<Key, From>>,
  map: (value: From) => To,
): Record<Key, To> =>
  // The keys are those of the table.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(Object.entries<From>(table).map(([key, value]) => [key, map(value)])) as Record<Key, To>;

/** Defines metrics of one kind, but for those that name another. Most have no labels, and measure seconds. */
const define = <Name extends string>(
  kind: MetricDefinition['kind'],
  table: Record<Name, Pick<MetricDefinition, 'name' | 'text'> & Partial<MetricDefinition>>,
): Record<Name, MetricDefinition> =>
  mapValues(table, (metric) => ({ kind, unit: 's', labels: [], buckets: seconds, ...metric }));

const calls = ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.request.model'] as const;

/** Metrics that are written where things happen. */
export const eventMetrics = define('histogram', {
  requests: {
    name: 'http.server.request.duration',
    labels: ['http.request.method', 'http.route', 'http.response.status_code'],
    text: 'requests over HTTP, until the last byte; status 0: the client left without an answer',
  },
  toolCalls: {
    name: 'mcp.server.operation.duration',
    labels: ['mcp.method.name', 'gen_ai.tool.name', 'error.type'],
    text: 'tool calls over MCP; `error.type`: the code of the refusal, or payment_required',
  },
  mountedCalls: {
    name: 'mcp.client.operation.duration',
    labels: ['mcp.method.name', 'causeway.server', 'gen_ai.tool.name', 'error.type'],
    text: 'calls of mounted tools; `error.type`: tool_error (`isError`), or the code of the refusal',
  },
  providerCalls: {
    name: 'gen_ai.client.operation.duration',
    labels: [...calls, 'error.type'],
    text: 'attempts at providers; `gen_ai.request.model`: the model of the route',
  },
  firstChunks: {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    labels: calls,
    text: 'time to the first piece of a streamed answer',
  },
  tokens: {
    name: 'gen_ai.client.token.usage',
    unit: '{token}',
    labels: [...calls, 'gen_ai.token.type'],
    text: 'tokens of an answer: `input`, `output`, and of these `cached` and `reasoning`',
    buckets: tokens,
  },
  providerErrors: {
    name: 'causeway.provider.errors',
    kind: 'counter',
    unit: '{error}',
    labels: ['gen_ai.provider.name', 'causeway.failure', 'error.type'],
    text: 'failed attempts; classes: retry_same, retry_other, ambiguous, fatal (the request was wrong)',
  },
  jobs: {
    name: 'causeway.job.duration',
    labels: ['causeway.kind', 'causeway.sku', 'causeway.status', 'error.type'],
    text: 'attempts at jobs that ended here',
  },
  charges: {
    name: 'causeway.charges',
    kind: 'counter',
    unit: 'USD',
    labels: ['causeway.kind', 'causeway.sku'],
    text: 'charged to balances for jobs; only the ledger is exact',
  },
  commands: {
    name: 'db.client.operation.duration',
    labels: ['db.system.name', 'db.operation.name', 'error.type'],
    text: 'commands of the store, with their wait',
    buckets: shortSeconds,
  },
  groups: {
    name: 'causeway.store.group.size',
    unit: '{command}',
    text: 'commands that were committed, or sent to PostgreSQL, together',
    buckets: sizes,
  },
  searches: {
    name: 'causeway.lead.search.duration',
    labels: ['error.type'],
    text: 'searches for profiles',
    buckets: shortSeconds,
  },
  paymentMoves: {
    name: 'causeway.payment.moves',
    kind: 'counter',
    unit: '{payment}',
    labels: ['causeway.state'],
    text: 'payments that this process moved into the state',
  },
  webhookAttempts: {
    name: 'causeway.webhook.attempts',
    kind: 'counter',
    unit: '{attempt}',
    labels: ['causeway.state'],
    text: 'deliveries of webhooks; pending: it will be tried again',
  },
});

/** Metrics that are read when they are asked for. Those of the store are asked at most every few seconds. */
export const readMetrics = define('gauge', {
  activeJobs: {
    name: 'causeway.jobs.active',
    unit: '{job}',
    labels: ['causeway.kind', 'causeway.status'],
    text: 'jobs in the store that are queued or running',
  },
  oldestJob: {
    name: 'causeway.jobs.oldest',
    labels: ['causeway.kind', 'causeway.status'],
    text: 'age of the oldest of them',
  },
  holds: { name: 'causeway.holds.open', unit: '{hold}', text: 'open holds on balances' },
  held: { name: 'causeway.holds.open.sum', unit: 'USD', text: 'their sum' },
  owedJobs: { name: 'causeway.jobs.owed', unit: '{job}', text: 'jobs that are done and not paid' },
  owed: { name: 'causeway.jobs.owed.sum', unit: 'USD', text: 'their sum' },
  webhooks: {
    name: 'causeway.webhooks.waiting',
    unit: '{event}',
    text: 'webhooks that are not delivered yet, at most 10000',
  },
  webhookLag: {
    name: 'causeway.webhooks.lag',
    text: 'for how long the next attempt of a webhook is overdue',
  },
  payments: {
    name: 'causeway.payments.open',
    unit: '{payment}',
    labels: ['causeway.state'],
    text: 'payments that have not ended, at most 10000 of a state',
  },
  oldestPayment: {
    name: 'causeway.payments.oldest',
    labels: ['causeway.state'],
    text: 'age of the oldest of them',
  },
  networkReady: {
    name: 'causeway.payments.network.ready',
    unit: '1',
    labels: ['causeway.network', 'causeway.facilitator'],
    text: '1 if payments on the network work',
  },
  settlementsLeft: {
    name: 'causeway.payments.settlements_left',
    unit: '{settlement}',
    labels: ['causeway.network'],
    text: 'settlements that the settling account can pay for',
  },
  breakerRest: {
    name: 'causeway.provider.rest',
    labels: calls,
    text: 'time until the route may be asked again',
  },
  bodyMemory: {
    name: 'causeway.body_memory.used',
    unit: 'By',
    text: 'part of BODY_MEMORY_BYTES that large requests hold',
  },
  bodyWaiting: {
    name: 'causeway.body_memory.waiting',
    unit: '{request}',
    text: 'large requests that wait for it',
  },
  storeReady: { name: 'causeway.store.ready', unit: '1', text: '1 if the store takes new work' },
  diskFull: { name: 'causeway.store.full', unit: '1', text: '1 if the disk of the store is full' },
  diskFree: { name: 'causeway.disk.free', unit: 'By', text: 'free space where DATA_DIR is' },
  loopDelay: { name: 'nodejs.eventloop.delay.p99', text: 'delay of the event loop, 99th percentile' },
  loopUtilization: {
    name: 'nodejs.eventloop.utilization',
    unit: '1',
    text: 'part of the time in which the event loop was busy',
  },
  memory: { name: 'process.memory.usage', unit: 'By', text: 'resident memory of the process' },
  heap: { name: 'v8js.memory.heap.used', unit: 'By', text: 'used part of the heap of the main thread' },
  cpu: {
    name: 'process.cpu.time',
    kind: 'counter',
    labels: ['cpu.mode'],
    text: 'processor time of the process',
  },
});

export const allMetrics: readonly MetricDefinition[] = [
  ...Object.values(eventMetrics),
  ...Object.values(readMetrics),
];

/** Attributes of spans. Prompts, answers, keys and accounts are in none. */
export const spanAttributes = {
  requestId: 'causeway.request_id',
  operation: 'causeway.operation',
  jobId: 'causeway.job_id',
  sku: 'causeway.sku',
  mcpMethod: 'mcp.method.name',
  tool: 'gen_ai.tool.name',
  server: 'causeway.server',
  genAiOperation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  maxTokens: 'gen_ai.request.max_tokens',
  isStream: 'gen_ai.request.stream',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  errorType: 'error.type',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  dbSystem: 'db.system.name',
  dbOperation: 'db.operation.name',
} as const;

const unitEndings: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', USD: 'usd' };

/** Returns the name that Prometheus reads. It ends with the unit, as with all exporters but that of Node. */
export const prometheusName = ({
  name,
  unit,
  kind,
}: Pick<MetricDefinition, 'name' | 'unit' | 'kind'>): string =>
  [name.replaceAll('.', '_'), unitEndings[unit], kind === 'counter' ? 'total' : undefined]
    .filter((part) => part !== undefined)
    .join('_');
