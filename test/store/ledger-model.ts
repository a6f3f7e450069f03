import type { Nano } from '../../src/kit/money.ts';

/** What the ledger commands mean, in memory and one after the other. */
export interface ModelJob {
  id: string;
  kind: string;
  accountId: string;
  status: 'queued' | 'running' | 'done' | 'failed';
  attempts: number;
  maxAttempts: number;
  leaseOwner: string | null;
  leaseUntil: number;
  deadlineAt: number;
  createdAt: number;
  /** When its turn in the queue comes. */
  turn: number;
  hold: Nano;
  holdState: 'open' | 'captured' | 'released';
  charged: Nano;
  refunded: Nano;
}

export interface LedgerModel {
  available(accountId: string): Nano;
  account(accountId: string): { balance: Nano; held: Nano };
  jobs(): ModelJob[];
  open(input: {
    job: Omit<ModelJob, 'attempts' | 'turn' | 'holdState' | 'charged' | 'refunded'>;
    idempotency: { key: string; bodyHash: string; expiresAt: number } | null;
    activeLimit: number | null;
    now: number;
  }):
    | { outcome: 'opened' | 'replayed'; jobId: string }
    | { outcome: 'conflict' | 'insufficient' | 'too_many_active' };
  claim(input: { owner: string; limit: number; leaseUntil: number; now: number }): string[];
  finish(input: {
    id: string;
    owner: string;
    status: 'done' | 'failed';
    charge: Nano;
    /** Whether it failed by no fault of its request. */
    isFault: boolean;
  }): 'finished' | 'lost';
  reap(input: { owner: string; leaseUntil: number; now: number }): { requeued: string[]; doomed: string[] };
  post(input: { id: string; accountId: string; amount: Nano }): 'posted' | 'insufficient' | 'conflict';
  refund(input: { id: string; jobId: string; amount: Nano }): 'refunded' | 'too_much' | 'no_job' | 'conflict';
}

export const createLedgerModel = (): LedgerModel => {
  const entries = new Map<string, { accountId: string; amount: Nano; jobId: string | null }>();
  const jobs = new Map<string, ModelJob>();
  const keys = new Map<string, { jobId: string; bodyHash: string; expiresAt: number }>();
  /** Jobs whose keys are free again. */
  const freed = new Set<string>();
  const sum = (amounts: Nano[]): Nano => amounts.reduce((total, amount) => total + amount, 0n);
  const oldestFirst = (): ModelJob[] =>
    [...jobs.values()].sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));

  const account = (accountId: string) => ({
    balance: sum(
      [...entries.values()].filter((entry) => entry.accountId === accountId).map(({ amount }) => amount),
    ),
    held: sum(
      [...jobs.values()]
        .filter((job) => job.accountId === accountId && job.holdState === 'open')
        .map(({ hold }) => hold),
    ),
  });
  const available = (accountId: string): Nano => account(accountId).balance - account(accountId).held;

  const end = (job: ModelJob, status: 'done' | 'failed', charge: Nano): void => {
    job.status = status;
    job.leaseOwner = null;
    job.charged = charge < job.hold ? charge : job.hold;
    job.holdState = job.charged > 0n ? 'captured' : 'released';
    if (job.charged > 0n)
      entries.set(`debit of ${job.id}`, { accountId: job.accountId, amount: -job.charged, jobId: job.id });
  };

  /** Null when the id is free; else whether it is the same entry. */
  const sameEntry = (id: string, entry: { accountId: string; amount: Nano; jobId: string | null }) => {
    const earlier = entries.get(id);
    if (earlier === undefined) return null;
    return (
      earlier.accountId === entry.accountId &&
      earlier.amount === entry.amount &&
      earlier.jobId === entry.jobId
    );
  };

  return {
    available,
    account,
    jobs: oldestFirst,
    open: ({ job, idempotency, activeLimit, now }) => {
      const scope = `${job.accountId} ${idempotency?.key}`;
      const claim = idempotency === null ? undefined : keys.get(scope);
      if (idempotency !== null && claim !== undefined && claim.expiresAt > now && !freed.has(claim.jobId))
        return claim.bodyHash === idempotency.bodyHash
          ? { outcome: 'replayed', jobId: claim.jobId }
          : { outcome: 'conflict' };
      const active = oldestFirst().filter(
        ({ accountId, status }) =>
          accountId === job.accountId && (status === 'queued' || status === 'running'),
      );
      if (activeLimit !== null && active.length >= activeLimit) return { outcome: 'too_many_active' };
      if (available(job.accountId) < job.hold) return { outcome: 'insufficient' };
      const attempts = job.status === 'running' ? 1 : 0;
      const queued = [...jobs.values()].filter(
        ({ accountId, status }) => accountId === job.accountId && status === 'queued',
      );
      const turn =
        job.status === 'running' ? now : Math.max(now, ...queued.map((other) => other.turn + 60_000));
      jobs.set(job.id, { ...job, attempts, turn, holdState: 'open', charged: 0n, refunded: 0n });
      if (idempotency !== null) keys.set(scope, { ...idempotency, jobId: job.id });
      return { outcome: 'opened', jobId: job.id };
    },
    claim: ({ owner, limit, leaseUntil, now }) => {
      const due = [...jobs.values()]
        .filter((job) => job.status === 'queued' && job.deadlineAt > now)
        .sort((a, b) => a.turn - b.turn || (a.id < b.id ? -1 : 1));
      for (const job of due.slice(0, limit)) {
        job.status = 'running';
        job.attempts += 1;
        job.leaseOwner = owner;
        job.leaseUntil = leaseUntil;
      }
      return due.slice(0, limit).map(({ id }) => id);
    },
    finish: ({ id, owner, status, charge, isFault }) => {
      const job = jobs.get(id);
      if (job === undefined || job.status !== 'running' || job.leaseOwner !== owner) return 'lost';
      end(job, status, charge);
      if (job.kind === 'chat' && status === 'failed' && job.charged === 0n && isFault) freed.add(id);
      return 'finished';
    },
    reap: ({ owner, leaseUntil, now }) => {
      const lapsed = oldestFirst().filter((job) => job.status === 'running' && job.leaseUntil <= now);
      const late = oldestFirst().filter((job) => job.status === 'queued' && job.deadlineAt <= now);
      const requeued = lapsed.filter((job) => job.attempts < job.maxAttempts && job.deadlineAt > now);
      const doomed = [...lapsed.filter((job) => !requeued.includes(job)), ...late];
      for (const job of requeued) Object.assign(job, { status: 'queued', leaseOwner: null });
      for (const job of doomed) Object.assign(job, { status: 'running', leaseOwner: owner, leaseUntil });
      return { requeued: requeued.map(({ id }) => id), doomed: doomed.map(({ id }) => id) };
    },
    post: ({ id, accountId, amount }) => {
      const entry = { accountId, amount, jobId: null };
      const same = sameEntry(id, entry);
      if (same !== null) return same ? 'posted' : 'conflict';
      if (amount < 0n && available(accountId) + amount < 0n) return 'insufficient';
      entries.set(id, entry);
      return 'posted';
    },
    refund: ({ id, jobId, amount }) => {
      const job = jobs.get(jobId);
      if (job === undefined) return 'no_job';
      const entry = { accountId: job.accountId, amount, jobId };
      const same = sameEntry(id, entry);
      if (same !== null) return same ? 'refunded' : 'conflict';
      if (amount > job.charged - job.refunded) return 'too_much';
      entries.set(id, entry);
      job.refunded += amount;
      return 'refunded';
    },
  };
};
