import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/store/command.ts';
import { commands, type AnyCommand, type CommandName } from '../../src/store/commands.ts';
import { postgresDialect } from '../../src/store/postgres/engine.ts';
import { sqliteDialect } from '../../src/store/sqlite/connection.ts';
import type { EngineKind } from '../../src/store/statement.ts';
import { finishing, newPayment, opening, runningJob, start } from './builders.ts';
import { noise } from './noise.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

interface Plan {
  command: CommandName;
  input: unknown;
  /** The rows that each of its statements finds. */
  found?: unknown[];
  /** The indexes that find the rows of its statements, in their order, whatever else there is. */
  indexes: RegExp[];
}

const byKey = (table: string): RegExp => new RegExp(`${table}(_pkey|_1 )`);
const page = { accountId: 'a', limit: 5, before: null };
const ids = { ids: ['x'], owner: 'o', now: start };

const plans: Plan[] = [
  { command: 'listJobs', input: page, indexes: [/jobs_by_account/] },
  ...(
    [
      [{}, /jobs_by_age/],
      [{ status: 'done' }, /jobs_by_age/],
      [{ model: 'model 1', kind: 'chat' }, /jobs_by_age/],
      [{ accountId: 'a', model: 'model 1' }, /jobs_by_account/],
      [{ accountId: 'a', keyId: 'k' }, /jobs_by_account/],
      [{ accountId: 'a', usageTag: 'shop' }, /jobs_by_account/],
      [{ status: 'failed', kind: 'chat' }, /jobs_failed/],
      [{ status: 'failed', accountId: 'a', model: 'model 1' }, /jobs_of_account_failed/],
      [{ status: 'queued', accountId: 'a' }, /jobs_(active|in_queue|of_account_in_queue|by_lease)/],
    ] as const
  ).map(([filter, index]): Plan => ({
    command: 'searchJobs',
    input: { ...filter, before: null, limit: 5 },
    found: [],
    // Where an index has not all filters, a first statement bounds the second.
    indexes: Object.keys(filter).length > 1 ? [index, index] : [index],
  })),
  { command: 'listEntries', input: page, indexes: [/ledger_entries_by_account/] },
  {
    command: 'findEntry',
    input: { accountId: 'a', id: 'e' },
    indexes: [/(?=[^]*ledger_entries_one_debit_per_job)(?=[^]*ledger_entries_by_account)/],
  },
  {
    command: 'sumUsage',
    input: { accountId: 'a', from: 0, to: 1 },
    indexes: [/(?=[^]*usage_sums)(?=[^]*jobs_active)(?=[^]*jobs_by_account)/],
  },
  {
    command: 'sumModels',
    input: { from: 0, to: 1 },
    indexes: [/(?=[^]*usage_sums_by_day)(?=[^]*holds_owed)/],
  },
  {
    command: 'sumToolCalls',
    input: { from: 0, to: 1 },
    indexes: [/(?=[^]*tool_jobs_by_age)(?=[^]*bought_payments_by_job)/],
  },
  {
    command: 'findReplay',
    input: { accountId: 'a', idempotency: { endpoint: 'e', key: 'k' }, payment: 'p', now: start },
    indexes: [byKey('payments'), byKey('idempotency_keys')],
  },
  { command: 'sweepIdempotencyKeys', input: {}, indexes: [/idempotency_keys_by_expiry/] },
  { command: 'sweepAskedCalls', input: {}, indexes: [/asked_calls_by_expiry/] },
  { command: 'sweepConsoleSessions', input: {}, indexes: [/console_sessions_by_expiry/] },
  { command: 'sweepCardPayments', input: {}, indexes: [/card_payments_by_expiry/] },
  {
    command: 'takeOpenCardPayments',
    input: { isLive: false, now: start, limit: 5 },
    indexes: [/card_payments_to_ask/],
  },
  { command: 'getAutoTopUp', input: 'a', indexes: [byKey('auto_top_ups')] },
  {
    command: 'sumAutoTopUps',
    input: { accountId: 'a', since: start },
    found: [{ charged: 0n }],
    indexes: [/card_payments_automatic/],
  },
  {
    command: 'listLowAutoTopUps',
    input: { isLive: false, lastBefore: start, monthStart: start, limit: 5 },
    indexes: [/auto_top_ups_on/],
  },
  {
    command: 'isAutoTopUpWanted',
    input: { id: 'a', monthStart: start },
    indexes: [/(?=[^]*auto_top_ups)(?=[^]*card_payments_automatic)/],
  },
  {
    command: 'findCardPaymentByIntent',
    input: 'pi',
    indexes: [/card_payments_payment_intent_key|card_payments_2 /],
  },
  {
    command: 'takeCardDebts',
    input: { accountId: 'a', now: start },
    found: [{ available: 1n, kept: 1n, credited: 1n }],
    indexes: [byKey('accounts'), /card_payments_unbooked/],
  },
  { command: 'listCardDebtors', input: 5, indexes: [/card_payments_unbooked/] },
  ...(
    [
      [{}, /card_payments_by_age/],
      [{ accountId: 'a' }, /card_payments_by_account/],
      [{ state: 'paid' }, /card_payments_by_state/],
    ] as const
  ).map(([filter, index]): Plan => ({
    command: 'listCardPayments',
    input: { ...filter, before: null, limit: 5 },
    indexes: [index],
  })),
  { command: 'findConsoleSession', input: {}, indexes: [byKey('console_sessions')] },
  { command: 'openConsoleSession', input: {}, indexes: [/(?:)/, /console_sessions_by_key/] },
  { command: 'getAskedCall', input: {}, indexes: [byKey('asked_calls')] },
  { command: 'sweepMadeClips', input: {}, indexes: [/made_clips_by_age/] },
  { command: 'claimJobs', input: { kind: 'image' }, found: [], indexes: [/jobs_in_queue/] },
  { command: 'reapJobs', input: { limit: 5 }, indexes: [/jobs_by_lease/, /jobs_in_queue_by_deadline/] },
  { command: 'forgetResults', input: {}, indexes: [/jobs_with_brief_results/] },
  { command: 'countActiveJobs', input: {}, found: [{ active: 0n }], indexes: [/jobs_active/] },
  {
    command: 'openJob',
    input: opening(runningJob({ accountId: 'a', keyId: 'k' })),
    indexes: [byKey('accounts')],
  },
  { command: 'finishJob', input: finishing('j'), indexes: [byKey('jobs')] },
  {
    command: 'listKeys',
    input: { ...page, now: start },
    indexes: [/api_keys_by_account[^]*key_use|key_use[^]*api_keys_by_account/],
  },
  {
    command: 'findConnection',
    input: { token: 't', now: start },
    indexes: [/(?=[^]*oauth_records(_pkey|_1 ))(?=[^]*connections_(grant_id|2 ))(?=[^]*api_keys(_pkey|_1 ))/],
  },
  {
    command: 'findConnection',
    input: { grantId: 'g' },
    indexes: [/(?=[^]*connections_(grant_id|2 ))(?=[^]*api_keys(_pkey|_1 ))/],
  },
  { command: 'getKey', input: { id: 'k', now: start }, indexes: [byKey('api_keys')] },
  { command: 'recordProgress', input: ids, indexes: [byKey('jobs')] },
  { command: 'renewLeases', input: ids, indexes: [byKey('jobs')] },
  { command: 'releaseJobs', input: ids, indexes: [byKey('jobs')] },
  { command: 'returnJob', input: { id: 'j', owner: 'o' }, indexes: [byKey('jobs')] },
  { command: 'withdrawJob', input: { id: 'j', ...ids, accountId: 'a' }, indexes: [byKey('jobs')] },
  { command: 'listMedia', input: 'j', indexes: [/media_by_job/] },
  { command: 'listExpiredMedia', input: {}, indexes: [/media_to_remove/] },
  { command: 'discardMedia', input: ids, indexes: [byKey('media')] },
  { command: 'markMediaRemoved', input: ids, indexes: [byKey('media'), byKey('media')] },
  { command: 'gaugeActiveJobs', input: undefined, indexes: [/jobs_active/] },
  {
    command: 'gaugeWebhooks',
    input: undefined,
    found: [{ events: 0n, due_at: 0n }],
    indexes: [/webhook_events_due/],
  },
  { command: 'gaugePayments', input: undefined, indexes: [/payments_by_state/] },
  {
    command: 'readPulse',
    input: undefined,
    found: [{}],
    indexes: [/(?=[^]*jobs_active)(?=[^]*payments_by_change)(?=[^]*audit_log_by_time)/],
  },
  { command: 'listDueWebhooks', input: { places: [] }, indexes: [/webhook_events_due/] },
  { command: 'claimWebhooks', input: ids, indexes: [byKey('webhook_events')] },
  { command: 'recordWebhookAttempt', input: { attempt: {} }, indexes: [byKey('webhook_events')] },
  {
    command: 'listStatementEntries',
    input: { accountId: 'a', after: { createdAt: 1, id: '' }, until: 2, limit: 5 },
    indexes: [/ledger_entries_by_account/],
  },
  { command: 'balanceBefore', input: {}, indexes: [/ledger_entries_by_account/] },
  {
    command: 'listDeliveries',
    input: { accountId: 'a', limit: 5, before: null },
    indexes: [/webhook_events_by_account/],
  },
  { command: 'getDelivery', input: {}, indexes: [byKey('webhook_events')] },
  { command: 'listWebhookAttempts', input: 'e', indexes: [byKey('webhook_attempts')] },
  { command: 'listWebhooks', input: { jobId: 'j' }, indexes: [/webhook_events_by_job/] },
  { command: 'listWebhooks', input: { accountId: 'a' }, indexes: [/webhook_events_by_account/] },
  { command: 'listWebhooks', input: { states: ['pending'] }, indexes: [/webhook_events_by_state/] },
  { command: 'listWebhooks', input: {}, indexes: [/webhook_events_by_age/] },
  { command: 'reservePayment', input: newPayment(), found: [{}], indexes: [/payments_by_payment_id/] },
  { command: 'advancePayment', input: {}, indexes: [byKey('payments')] },
  { command: 'findPaymentById', input: 'p', indexes: [/payments_by_payment_id/] },
  { command: 'listPayments', input: {}, indexes: [/payments_by_age/] },
  { command: 'listPayments', input: { states: ['failed'] }, indexes: [/payments_by_state/] },
  { command: 'listPayments', input: { network: 'n' }, indexes: [/payments_by_network/] },
  { command: 'findPaymentsByTransaction', input: {}, indexes: [/payments_by_transaction/] },
  {
    command: 'findPaymentsByPrefix',
    input: {},
    indexes: [/payments(_pkey|_1 )[^]*payments_by_reference[^]*payments_by_transaction/],
  },
  {
    command: 'listPurchases',
    input: { ...page, wallet: { payer: '0xpayer', networks: ['eip155:8453'] } },
    indexes: [/(?=[^]*payments_by_account)(?=[^]*payments_by_payer)/],
  },
  { command: 'findPaymentOfJob', input: 'j', indexes: [/payments_one_per_job/] },
  { command: 'resumeBoughtPayment', input: {}, indexes: [/bought_payments_by_request/] },
  {
    command: 'recordBoughtPayment',
    input: { jobId: 'j', operation: 'tool' },
    found: [{}],
    indexes: [/bought_payments_(of_jobs|by_request)/],
  },
  { command: 'claimPaymentChecks', input: {}, indexes: [/payments_to_check/] },
  {
    command: 'prunePayments',
    input: {},
    indexes: [/payments_by_change/, /payments_with_answer/, /payments_with_client/],
  },
  { command: 'listSettledPayments', input: {}, indexes: [/payments_by_settlement/] },
  { command: 'sumPayments', input: {}, indexes: [/payments_by_settlement/] },
  { command: 'listRefunds', input: { payment: 'p' }, indexes: [/payment_refunds_by_payment/] },
  { command: 'listRefunds', input: { payment: null }, indexes: [/payment_refunds_open/] },
  { command: 'findOperatorKey', input: 'h', indexes: [/operator_keys_(hash_key|2 )/] },
  { command: 'listAudit', input: {}, indexes: [/audit_log_by_time/] },
  { command: 'listAudit', input: { actor: 'a' }, indexes: [/audit_log_by_actor/] },
  { command: 'listAudit', input: { operation: 'o' }, indexes: [/audit_log_by_operation/] },
  { command: 'findForgotten', input: ['d'], indexes: [/forgotten_people(_pkey| USING PRIMARY KEY)/] },
  { command: 'listForgotten', input: {}, indexes: [/forgotten_people(_pkey| USING PRIMARY KEY)/] },
  { command: 'listModelChanges', input: 0, indexes: [/model_changes_by_end/] },
  { command: 'listModelHistory', input: {}, indexes: [byKey('model_changes')] },
  { command: 'changeModel', input: {}, found: [{}], indexes: [/(?:)/, byKey('model_changes')] },
  { command: 'listNewestRefunds', input: { before: null }, indexes: [/payment_refunds_by_age/] },
];

/** The statements that a command runs. */
const statementsOf = ({ command, input, found = [] }: Omit<Plan, 'indexes'>, kind: EngineKind): string[] => {
  const texts: string[] = [];
  const engine: Engine = {
    rows: ({ text, only }) => {
      const dialect = kind === 'sqlite' ? sqliteDialect : postgresDialect;
      if ((only ?? kind) === kind) texts.push(typeof text === 'string' ? text : text(dialect));
      return found;
    },
    transaction: (steps) => drive(steps),
    announcement: { channel: '', sender: '' },
  };
  const drive = (steps: ReturnType<AnyCommand['steps']>): unknown => {
    let next = steps.next();
    while (next.done !== true) next = steps.next(next.value(engine));
    return next.value;
  };
  const one: AnyCommand = commands[command];
  drive(one.steps(input, kind));
  return texts;
};

/** A walk through a whole table, not by an index and not of a list that was given. There are few lists of people. */
const wholeTable =
  /Seq Scan on (?!json|forgotten_lists)|SCAN (?!json_each|forgotten_lists|CONSTANT|given|receivers|firsts|heads|pending|delivered|stopped|exhausted|moves|newer|wanted|by_|ended|used|\(subquery)(?!.* USING )/;

/** Parameters for a prepared statement; it takes no empty list. */
const withNulls = (text: string): string => {
  const parameters = new Set(text.match(/\$\d+/g));
  return parameters.size === 0 ? '' : ` (${Array.from(parameters, () => 'null').join(', ')})`;
};

describe.each(testEngines())('the plans on $kind, among 100,000 jobs,', ({ kind, create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
    await data.sql(
      ...noise(kind, { accounts: 1_000, jobs: 100_000, since: start }),
      `update jobs set status = 'failed', kind = case when created_at / 1000 % 7 = 0 then 'video' else 'chat' end
        where created_at / 1000 % 50 = 0`,
      `insert into usage_sums (account_id, day, key_id, kind, model, status, tag, jobs, charged)
        select account_id, created_at, key_id, kind, model, status, '', 1, 0 from jobs`,
      'insert into forgotten_people (digest) select id from jobs',
      `insert into connections (id, parent_id, grant_id, scopes, servers, resource, client) select id, id, id, '[]', '[]', '', '{}' from api_keys`,
      `insert into oauth_records (model, id, payload, grant_id, used_at, expires_at) select 'AccessToken', id, '{}', id, 0, 0 from jobs`,
      `insert into bought_payments (identity, request, upstream, operation, job_id, network, asset, pay_to, amount, price, day, payload, requirements, state, lease_until, created_at, updated_at)
        select id, id, '', 'tool', id, '', '', '', 1, 1, '', '', '', 'answered', 0, 0, 0 from jobs`,
      `insert into asked_calls (id, account_id, key_id, call_hash, operation, most, expires_at) select id, account_id, (select min(id) from api_keys), id, '', 1, 0 from jobs`,
      `insert into audit_log (id, at, actor, operation, input) values ('a', 0, 'cli:me', 'set_model', '{}')`,
      `insert into model_changes (sku, version, at, until, is_off, before, after, changed_in) select id, 1, 0, 1, 0, '{}', '{}', 'a' from jobs`,
      `insert into console_sessions (id, role, key_hash, expires_at) select id, 'customer', id, 0 from jobs`,
      `insert into auto_top_ups (account_id, state, below, amount, monthly_cap) select id, 'needs_card', 1, 1, 1 from accounts`,
      `insert into card_payments (id, account_id, kind, state, amount, live, kept, credited, payment_intent, created_at, updated_at)
        select id, account_id, 'checkout', 'paid', 1, 0, 1, 1, id, created_at, 0 from jobs`,
    );
    // PostgreSQL does this by itself in time; SQLite is not told anything of its data.
    if (kind === 'postgres') await data.sql('analyze');
  });
  afterAll(() => data.remove());

  const planOf = async (text: string): Promise<string> => {
    const rows =
      kind === 'sqlite'
        ? await data.sql(`explain query plan ${text.replaceAll(/\$(\d+)/g, '?$1')}`)
        : await data.sql(
            // What a connection keeps for a statement that it runs often.
            'set plan_cache_mode = force_generic_plan',
            `prepare plan as ${text}`,
            `explain execute plan${withNulls(text)}`,
          );
    return rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
  };

  const expectPlan = async (text: string, index: RegExp): Promise<void> => {
    const plan = await planOf(text);
    expect(plan).toMatch(index);
    expect(plan).not.toMatch(wholeTable);
  };

  it.each(plans)('find the rows of $command $input by an index', async (plan) => {
    const texts = statementsOf(plan, kind);
    expect(texts.length).toBeGreaterThanOrEqual(plan.indexes.length);
    for (const [position, index] of plan.indexes.entries()) await expectPlan(texts[position]!, index);
  });

  it('let a page of a search for rare jobs look at 10,000 alone, and the pages together at all', async () => {
    const rare = { status: 'done', model: 'model 1', kind: 'video' } as const;
    await data.sql(`update jobs set kind = 'video' where id in ('job 6', 'job 60001', 'job 99996')`);
    const pages: string[][] = [];
    for (let before: { createdAt: number; id: string } | null = null; ;) {
      const { jobs, next } = await data.store.searchJobs({ ...rare, before, limit: 10 });
      pages.push(jobs.map(({ id }) => id));
      if (next === null) break;
      before = next;
    }
    expect(pages.flat()).toEqual(['job 99996', 'job 60001', 'job 6']);
    expect(pages).toHaveLength(11);
  });

  it('find the inputs of a new job by an index', async () => {
    const input = opening(runningJob({ accountId: 'a', keyId: 'k' }), { inputs: ['x'] });
    const found = [{ status: 'active', available: 10n ** 18n, has_key: true, active: 0n }];
    const texts = statementsOf({ command: 'openJob', input, found }, kind);
    await expectPlan(
      texts.find((text) => text.startsWith('update media'))!,
      byKey('media'),
    );
  });
});
