import type { StoreKind } from './open-store-at.ts';

const day = 86_400_000;

/** The rows are sound; to check that for each would only take time. */
const withoutChecks: Record<StoreKind, string[]> = {
  sqlite: ['pragma foreign_keys = off', 'pragma synchronous = off'],
  postgres: ['set session_replication_role = replica', 'set synchronous_commit = off'],
};

/** SQL that makes `accounts` accounts with `jobs` ended jobs in all, one a second from `since`, and all that belongs to them. */
export const noise = (
  kind: StoreKind,
  { accounts, jobs, since }: { accounts: number; jobs: number; since: number },
): string[] => {
  const numbers = (count: number): string =>
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})`;
  const at = `${since} + i * 1000`;
  const account = `'account ' || (i % ${accounts} + 1)`;
  const id = `'job ' || i`;
  const eachAccount = (table: string, columns: string, values: string): string =>
    `insert into ${table} (${columns}) ${numbers(accounts)} select ${values} from n`;
  const eachJob = (table: string, columns: string, values: string): string =>
    `insert into ${table} (${columns}) ${numbers(jobs)} select ${values} from n`;
  return [
    ...withoutChecks[kind],
    'begin',
    eachAccount(
      'accounts',
      'id, name, status, status_changed_at, created_at',
      `'account ' || i, '', 'active', 0, 0`,
    ),
    eachAccount(
      'api_keys',
      'id, account_id, hash, display, label, created_at',
      `'key ' || i, 'account ' || i, 'hash ' || i, '', '', 0`,
    ),
    eachJob(
      'key_use',
      'key_id, period, spent, held',
      `'key ' || (i % ${accounts} + 1), 'period ' || i, 60, 0`,
    ),
    eachJob(
      'jobs',
      `id, account_id, key_id, kind, model, status, attempts, max_attempts, deadline_at, created_at, started_at,
        finished_at, request, result`,
      `${id}, ${account}, 'key ' || (i % ${accounts} + 1), 'chat', 'model ' || (i % 5), 'done', 1, 1, ${at}, ${at}, ${at},
        ${at}, '', '{"answer":"of a length that answers have"}'`,
    ),
    eachJob(
      'holds',
      'job_id, account_id, amount, state, captured, expires_at, ended_at',
      `${id}, ${account}, 100, 'captured', 60, ${at}, ${at}`,
    ),
    eachJob(
      'ledger_entries',
      'id, account_id, type, amount, job_id, created_at',
      `${id}, ${account}, 'debit', -60, ${id}, ${at}`,
    ),
    eachJob(
      'payments',
      `identity, request_hash, network, asset, pay_to, amount, payload, requirements, state, payer, payment_id, result,
        transaction_id, settled_at, created_at, updated_at`,
      `'payment ' || i, '', 'eip155:8453', '0xusdc', '0xseller', 100000, '{}', '{}', 'delivered', '0xpayer',
        'payment id ' || i, null, '0x' || i, ${at}, ${at}, ${at}`,
    ),
    eachJob(
      'payment_refunds',
      'id, payment, network, asset, recipient, amount, state, raw_transaction, created_at, updated_at',
      `'refund ' || i, 'payment ' || i, 'eip155:8453', '0xusdc', '0xpayer', 1, 'settled', '0x', ${at}, ${at}`,
    ),
    eachJob(
      'idempotency_keys',
      'account_id, endpoint, idempotency_key, body_hash, job_id, expires_at',
      `${account}, 'POST /v1/chat/completions', ${id}, '', ${id}, ${at} + ${day}`,
    ),
    eachJob(
      'media',
      'id, account_id, job_id, content_type, size_bytes, created_at, expires_at',
      `${id}, ${account}, ${id}, 'image/png', 1, ${at}, ${at} + ${day}`,
    ),
    eachJob(
      'webhook_events',
      'id, account_id, job_id, url, body, state, attempts, attempts_logged, created_at, updated_at',
      `${id}, ${account}, ${id}, 'https://example.com', '{}', 'delivered', 1, 1, ${at}, ${at}`,
    ),
    eachJob('made_clips', 'digest, seconds, created_at', `'digest ' || i, 4, ${at}`),
    eachJob('webhook_attempts', 'event_id, number, at, duration_ms, http_status', `${id}, 1, ${at}, 5, 200`),
    eachAccount(
      'operator_keys',
      'id, hash, display, label, role, created_at',
      `'key ' || i, 'hash ' || i, '', '', 'read', 0`,
    ),
    eachJob(
      'audit_log',
      'id, at, actor, operation, input, outcome, finished_at',
      `${id}, ${at}, 'actor ' || (i % 50), 'operation ' || (i % 50), '{}', 'done', ${at}`,
    ),
    'commit',
  ];
};
