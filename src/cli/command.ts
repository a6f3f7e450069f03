import type { Readable } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import type { Clock } from '../kit/clock.ts';
import type { LeadIndex } from '../leads/lead-index.ts';
import type { ForgetUpstream } from '../leads/upstream/forget-upstream.ts';
import type { CommandGroup, OperatorServices, Verb } from '../operator/verb.ts';
import type { LeadPlace } from './place.ts';

/** What a command works with. It opens the data that it needs, which is closed after its answer. */
export interface Session extends Streams {
  clock: Clock;
  /** True with --json: stdout has the document alone, and no progress is shown. */
  isJson: boolean;
  /** Prints a line for people before the answer is ready. It goes to stderr, with --json too. */
  tell(line: string): void;
  progressOutput: ProgressOutput;
  /** Loads the whole configuration. Rejects with ConfigError. */
  config(): Promise<Config>;
  /** `isNewAllowed` creates a missing embedded store. */
  openStore(options?: MayBeNew): Promise<StoreSession>;
  /** Opens the keeper of the profiles. `isNewAllowed` creates a missing embedded index. */
  openProfiles(options?: MayBeNew): Promise<LeadSession>;
}

/** The streams of the process. */
export interface Streams {
  /** Writes a part of a long result to stdout. Resolves when it is written; the answer's `text` is null then. */
  writePart(text: string): Promise<void>;
  stdin(): Readable;
  /** Whether the reader of stdout has closed it, so that writing can end. */
  isReaderGone(): boolean;
}

interface MayBeNew {
  isNewAllowed?: boolean | undefined;
}

export interface ProgressOutput {
  /** Whether a line can be overwritten. */
  isTerminal: boolean;
  write(text: string): void;
}

/** The open store, for the user of the operating system, who has all rights. */
export interface StoreSession extends OperatorServices {
  /** Runs a verb as the user. Rejects with AppError. */
  operate<Fields extends z.ZodRawShape, Output extends object>(
    verb: Verb<Fields, Output>,
    input: z.input<z.ZodObject<Fields>>,
  ): Promise<Output>;
}

export interface LeadSession {
  keeper: LeadIndex;
  place: LeadPlace;
  /** Makes a change with a row in the audit log. Without a store on this machine there is no log. */
  audited<T>(row: { operation: string; input: object }, change: () => Promise<T>): Promise<T>;
  forgetUpstream: ForgetUpstream;
}

export interface Answer {
  /** The document that --json prints: the answer of a verb, or one like it. */
  json: object;
  /** The same for people, without a final line break; null if it was written with `writePart`. */
  text: string | null;
  /** A note for people beside the result. It goes to stderr, so that stdout has the result alone. */
  remark?: string | undefined;
  /** 1: a check found a problem, or a result is not final. 2: nothing was done because a confirmation is missing. Default 0. */
  exitCode?: 0 | 1 | 2;
}

/** Runs the work of a command and prints its answer. Throws CommandError. */
export type RunCommand = (work: (session: Session) => Promise<Answer>) => Promise<void>;

/** A command as commander takes it (`toCommand`). */
export interface CommandDefinition {
  /** Below `causeway`, such as `payments export`. */
  words: string;
  summary: string;
  description: string;
  /** Commands that work as they stand. */
  examples: readonly string[];
  /** Stands below the examples. */
  appendix: string;
  arguments: readonly Argument[];
  options: readonly Option[];
  /** `given`: the values of its arguments, then its options. */
  run(session: Session, given: readonly unknown[]): Promise<Answer>;
}

/** Ends a command's help with commands that work as they stand. */
export const addExamples = (command: Command, examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);

/** Adds commands with their help texts below the program, each within its group. */
export const addCommands = (
  program: Command,
  { groups, commands }: { groups: readonly CommandGroup[]; commands: readonly CommandDefinition[] },
  runCommand: RunCommand,
): void => {
  const parents = new Map<string, Command>([['', program]]);
  const addBelow = (words: string, { summary, description }: Record<'summary' | 'description', string>) => {
    const [, above = '', name = ''] = /^(?:(.*) )?(\S+)$/.exec(words) ?? [];
    const parent = parents.get(above) ?? addGroup(above);
    return parent.command(name).summary(summary).description(description);
  };
  const addGroup = (words: string): Command => {
    const group = groups.find((one) => one.words === words);
    if (group === undefined) throw new TypeError(`there is no group of commands "${words}"`);
    const { summary, more = '', alias } = group;
    const description = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}. ${more}`.trim();
    const command = addBelow(words, { summary, description });
    if (alias !== undefined) command.alias(alias);
    const below = commands.filter((one) => one.words.startsWith(`${words} `));
    const first = Map.groupBy(below, (one) => one.words.split(' ')[words.split(' ').length]);
    addExamples(
      command,
      [...first.values()].flatMap(([one]) => one?.examples[0] ?? []),
    );
    parents.set(words, command);
    return command;
  };
  for (const definition of commands) {
    const command = addExamples(addBelow(definition.words, definition), definition.examples);
    command.addHelpText('after', definition.appendix);
    for (const argument of definition.arguments) command.addArgument(argument);
    for (const option of definition.options) command.addOption(option);
    command.action((...given: unknown[]) => runCommand((session) => definition.run(session, given)));
  }
};
