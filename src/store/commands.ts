import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import type { Command, Steps } from './command.ts';
import * as declared from './command-files.ts';
import { StoreError } from './store-error.ts';

export type AnyCommand = Command<'read' | 'write', unknown, unknown>;

/** Does not compile if one of the files exports something else than commands and types. */
const onlyCommands = <List extends Record<string, AnyCommand>>(list: List): List => list;

/** All commands of the store: the exports of these files. Both adapters are made from this list. */
export const commands = onlyCommands({ ...declared });

type Commands = typeof commands;
export type CommandName = keyof Commands;
type OutputOf<Returned> = Returned extends Steps<infer Output> ? Output : never;

/** The commands as methods of an open store. */
export type CommandMethods = {
  [N in keyof Commands]: (
    input: Parameters<Commands[N]['steps']>[0],
  ) => Promise<OutputOf<ReturnType<Commands[N]['steps']>>>;
};

/**
 * Makes the methods of a store, which run a command by `call`. Of the long ones an account has one at a time, each of no
 * account runs once at a time, and all have few turns: they would else take the connections, or the thread, of everybody.
 */
export const commandMethods = (
  call: (name: CommandName, command: AnyCommand, input: unknown) => Promise<unknown>,
): CommandMethods => {
  const { signal } = new AbortController();
  const refusal = () => new StoreError('overloaded', 'too many long reads wait; this one was not tried');
  const queue = { total: 1_000, longestWaitMs: 10_000, refusal };
  const turns = createFairShareLimiter({ total: 4, queue });
  // The names are those of the commands, and `call` resolves with the output of the command.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(
    Object.entries<AnyCommand>(commands).map(([name, command]) => {
      const run = (input: unknown) => call(name as CommandName, command, input);
      const runInTurn = (input: unknown) => {
        const { accountId }: { accountId?: string | null } = Object(input);
        return turns.run({ owner: accountId ?? name }, { signal }, () => run(input));
      };
      return [name, command.isLong === true ? runInTurn : run];
    }),
  ) as CommandMethods;
};
