import type { Store } from './store.ts';

/** The store's commands: everything that reads or writes data. */
export type Commands = Omit<Store, 'kind' | 'onJobQueued' | 'ping' | 'probe' | 'close'>;
export type CommandName = keyof Commands;
export type CommandInput<N extends CommandName> = Parameters<Commands[N]>[0];
export type CommandOutput<N extends CommandName> = Awaited<ReturnType<Commands[N]>>;

export type ReadName =
  | 'getAccount'
  | 'getWebhookSecrets'
  | 'findSecret'
  | 'findMadeClip'
  | 'listAccounts'
  | 'listKeys'
  | 'findKey'
  | 'checkLedger'
  | 'getJob'
  | 'findReplay'
  | 'countActiveJobs'
  | 'listJobs'
  | 'listEntries'
  | 'sumUsage'
  | 'getMedia'
  | 'listMedia'
  | 'listExpiredMedia'
  | 'listDueWebhooks'
  | 'getWebhook'
  | 'listWebhooks'
  | 'listWebhookAttempts'
  | 'getPayment'
  | 'findPaymentById'
  | 'findPaymentsByTransaction'
  | 'findPaymentsByPrefix'
  | 'listPayments'
  | 'listSettledPayments'
  | 'sumPayments'
  | 'getRefund'
  | 'listRefunds'
  | 'listNewestRefunds'
  | 'listOfferedTerms';

export type WriteName = Exclude<CommandName, ReadName>;
