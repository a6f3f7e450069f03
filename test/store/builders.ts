import type { Clock } from '../../src/kit/clock.ts';
import { newId } from '../../src/kit/ids.ts';
import { newJobRecord } from '../../src/store/commands/job-table.ts';
import type {
  Account,
  AccountStatus,
  FinishJobInput,
  Job,
  NewAccount,
  NewJob,
  NewMedia,
  NewPayment,
  OpenJobInput,
  ReservedMedia,
  Payment,
  Store,
} from '../../src/store/store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

/** The time of the tests; every store takes its time from its caller. */
export const start = 1_800_000_000_000;

export interface Owner {
  accountId: string;
  keyId: string;
}

/** An account without money and keys, made at the time of the clock. */
export const createAccount = (
  { store, clock }: { store: Pick<Store, 'createAccount'>; clock: Clock },
  account: Omit<NewAccount, 'id' | 'now'>,
): Promise<Account> => store.createAccount({ ...account, id: newId(), now: clock.now() });

/** An account with a key and, when `balance` is above zero, a top-up. */
export const addAccount = async (
  store: Store,
  { balance = 1_000n, status = 'active' }: { balance?: bigint; status?: AccountStatus } = {},
): Promise<Owner> => {
  const accountId = newId();
  const keyId = newId();
  await store.createAccount({ id: accountId, name: 'Acme', status, now: start });
  await store.createKey({
    id: keyId,
    accountId,
    hash: `hash of ${keyId}`,
    display: 'sk_causeway_ab...yz',
    label: 'first',
    now: start,
  });
  if (balance > 0n)
    await store.postEntry({
      id: newId(),
      accountId,
      type: 'topup',
      amount: balance,
      note: null,
      now: start,
    });
  return { accountId, keyId };
};

export const worker = 'worker-1';

/** A job that its opener runs at once. */
export const runningJob = (owner: Owner, changes: Partial<NewJob> = {}): NewJob => ({
  id: newId(),
  ...owner,
  kind: 'chat',
  model: 'textmodel-3.5-flash',
  status: 'running',
  leaseOwner: worker,
  leaseUntil: start + 30_000,
  maxAttempts: 1,
  deadlineAt: start + 60_000,
  request: '{"messages":[]}',
  customData: null,
  parameters: null,
  webhookUrl: null,
  usageTag: null,
  isBudgeted: false,
  ...changes,
});

export const queuedJob = (owner: Owner, changes: Partial<NewJob> = {}): NewJob =>
  runningJob(owner, {
    kind: 'image',
    status: 'queued',
    leaseOwner: null,
    leaseUntil: null,
    maxAttempts: 2,
    ...changes,
  });

export const opening = (job: NewJob, changes: Partial<Omit<OpenJobInput, 'job'>> = {}): OpenJobInput => ({
  job,
  hold: 100n,
  idempotency: null,
  activeLimit: null,
  inputs: [],
  now: start,
  ...changes,
});

export const idempotencyKey = (
  key: string,
  changes: Partial<NonNullable<OpenJobInput['idempotency']>> = {},
) => ({
  endpoint: 'POST /v1/chat/completions',
  key,
  bodyHash: 'body-1',
  expiresAt: start + 86_400_000,
  ...changes,
});

export const finishing = (id: string, changes: Partial<FinishJobInput> = {}): FinishJobInput => ({
  id,
  accountId: '',
  owner: worker,
  status: 'done',
  result: '{"answer":42}',
  error: null,
  metadata: '{"provider":"sandbox"}',
  charge: 60n,
  cost: null,
  entryId: newId(),
  media: [],
  webhook: null,
  budgeted: null,
  now: start + 1_000,
  ...changes,
});

export const deadJobError = { type: 'server_error', code: 'server_error', message: 'Try again.' };

export const reaper = 'reaper';

export const reaping = (
  now: number,
  changes: Partial<Parameters<Store['reapJobs']>[0]> = {},
): Parameters<Store['reapJobs']>[0] => ({
  owner: reaper,
  leaseUntil: now + 30_000,
  now,
  limit: 1_000,
  ...changes,
});

/** What a job runner says of a job that counts in budgets. */
export const counted = (job: Job): Pick<FinishJobInput, 'budgeted'> => ({
  budgeted: job.isBudgeted ? job : null,
});

/** Reaps, and ends the doomed jobs uncharged as a job runner does. */
export const reapAndFail = async (store: Store, now: number): Promise<void> => {
  const { doomed } = await store.reapJobs(reaping(now));
  const failed = {
    owner: reaper,
    status: 'failed' as const,
    result: null,
    error: deadJobError,
    charge: 0n,
    now,
  };
  await Promise.all(doomed.map((job) => store.finishJob(finishing(job.id, { ...failed, ...counted(job) }))));
};

export const reservedMedia = (accountId: string, changes: Partial<ReservedMedia> = {}): ReservedMedia => ({
  id: newId(),
  accountId,
  role: 'input',
  contentType: 'image/png',
  expiresAt: start + 86_400_000,
  now: start,
  ...changes,
});

export const resultMedia = (
  job: { accountId: string; jobId: string },
  changes: Partial<NewMedia> = {},
): NewMedia => ({
  id: newId(),
  ...job,
  role: 'image',
  contentType: 'image/png',
  sizeBytes: 1_234,
  expiresAt: start + 2_592_000_000,
  ...changes,
});

export const newPayment = (changes: Partial<NewPayment> = {}): NewPayment => ({
  identity: newId(),
  requestHash: 'request-1',
  network: 'eip155:84532',
  asset: '0xasset',
  payTo: '0xseller',
  amount: 100_000n,
  payload: '{"x402Version":2}',
  requirements: '{"scheme":"exact"}',
  paymentId: null,
  accountId: null,
  credit: null,
  leaseOwner: worker,
  leaseUntil: start + 30_000,
  now: start,
  ...changes,
});

/** Opens a job, and answers with the job too when it was opened. */
export const openWithJob = async (store: Store, input: OpenJobInput) => {
  const opened = await store.openJob(input);
  return opened.outcome === 'opened' ? { ...opened, job: newJobRecord(input) } : opened;
};

/** Opens the job and answers its id; fails when it is not opened. */
export const openJob = async (store: Store, input: OpenJobInput): Promise<string> => {
  const opened = await store.openJob(input);
  if (opened.outcome !== 'opened') throw new Error(`the job was not opened: ${opened.outcome}`);
  return input.job.id;
};

export const available = async (store: Store, accountId: string): Promise<bigint> => {
  const account = await store.getAccount(accountId);
  if (account === null) throw new Error('there is no such account');
  return account.balance - account.held;
};

/** Throws with the problems that the store's own check finds. */
export const assertSoundBooks = async (store: Store): Promise<void> => {
  const { problems } = await store.checkLedger();
  if (problems.length > 0) throw new Error(`the books are not right:\n${problems.join('\n')}`);
};

/** A payment that has come to this state. */
export const addPayment = async (
  store: Store,
  state: PaymentState,
  {
    set,
    now = start,
    ...payment
  }: Partial<NewPayment> & { set?: Parameters<Store['advancePayment']>[0]['set'] } = {},
): Promise<Payment> => {
  const reserved = newPayment({ ...payment, now });
  const { identity } = reserved;
  await store.reservePayment(reserved);
  const moved = await store.advancePayment({
    identity,
    from: ['reserved'],
    to: state,
    set: { leaseOwner: null, leaseUntil: null, checkAt: null, ...set },
    now,
  });
  if (moved === null) throw new Error('the payment did not move');
  return moved;
};
