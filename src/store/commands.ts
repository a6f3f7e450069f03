import type { Command, Steps } from './command.ts';
import * as accounts from './commands/accounts.ts';
import * as boughtPayments from './commands/bought-payments.ts';
import * as claimCall from './commands/claim-call.ts';
import * as connections from './commands/connections.ts';
import * as finishJob from './commands/finish-job.ts';
import * as forgotten from './commands/forgotten.ts';
import * as gauges from './commands/gauges.ts';
import * as jobs from './commands/jobs.ts';
import * as keys from './commands/keys.ts';
import * as ledger from './commands/ledger.ts';
import * as listPayments from './commands/list-payments.ts';
import * as madeClips from './commands/made-clips.ts';
import * as media from './commands/media.ts';
import * as migrations from './commands/migrations.ts';
import * as oauthRecords from './commands/oauth-records.ts';
import * as openJob from './commands/open-job.ts';
import * as operator from './commands/operator.ts';
import * as payOwedJob from './commands/pay-owed-job.ts';
import * as paymentUpkeep from './commands/payment-upkeep.ts';
import * as payments from './commands/payments.ts';
import * as purchases from './commands/purchases.ts';
import * as refunds from './commands/refunds.ts';
import * as secrets from './commands/secrets.ts';
import * as spentNonces from './commands/spent-nonces.ts';
import * as wallets from './commands/wallets.ts';
import * as webhooks from './commands/webhooks.ts';

/** A command of any input and output. */
export type AnyCommand = Command<'read' | 'write', unknown, unknown>;

/** Does not compile if one of the files exports something else than commands and types. */
const onlyCommands = <List extends Record<string, AnyCommand>>(list: List): List => list;

/** All commands of the store: the exports of these files. Both adapters are made from this list. */
export const commands = onlyCommands({
  ...accounts,
  ...keys,
  ...connections,
  ...oauthRecords,
  ...secrets,
  ...spentNonces,
  ...migrations,
  ...forgotten,
  ...madeClips,
  ...ledger,
  ...jobs,
  ...openJob,
  ...payOwedJob,
  ...finishJob,
  ...media,
  ...webhooks,
  ...payments,
  ...claimCall,
  ...listPayments,
  ...paymentUpkeep,
  ...refunds,
  ...purchases,
  ...boughtPayments,
  ...operator,
  ...gauges,
  ...wallets,
});

type Commands = typeof commands;
export type CommandName = keyof Commands;
type OutputOf<Returned> = Returned extends Steps<infer Output> ? Output : never;

/** The commands as methods of an open store. */
export type CommandMethods = {
  [N in keyof Commands]: (
    input: Parameters<Commands[N]['steps']>[0],
  ) => Promise<OutputOf<ReturnType<Commands[N]['steps']>>>;
};

/** Makes the methods of a store, which run a command by `call`. */
export const commandMethods = (
  call: (name: CommandName, command: AnyCommand, input: unknown) => Promise<unknown>,
): CommandMethods =>
  // The names are those of the commands, and `call` resolves with the output of the command.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.fromEntries(
    Object.entries<AnyCommand>(commands).map(([name, command]) => [
      name,
      (input: unknown) => call(name as CommandName, command, input),
    ]),
  ) as CommandMethods;
