import type { Argument, Command, Option } from 'commander';
import type { Config } from '../config/config.ts';
import type { Answer, CommandContext, LeadSession, Session } from './command-context.ts';

interface AnyCommand {
  /** Below `causeway`, such as `payments export`. */
  words: string;
  /** One line in the list of commands. */
  summary: string;
  description: string;
  /** Commands that work as they stand. */
  examples: readonly [string, ...string[]];
  /** Stands below the examples. */
  appendix?: string | undefined;
  arguments?: readonly Argument[];
  options?: readonly Option[];
}

/** `Given`: the values of the arguments of a command, then its options, then commander's own command. */
interface StoreCommandDefinition<Given extends unknown[]> extends AnyCommand {
  /** Creates a missing embedded store. */
  isNewAllowed?: true | undefined;
  run: (session: Session, ...given: Given) => Promise<Answer>;
}

/** A command on the profiles. */
export interface LeadCommandDefinition<Given extends unknown[]> extends AnyCommand {
  /** Creates a missing index. */
  isNewAllowed?: true;
  runOnLeads: (session: LeadSession, ...given: Given) => Promise<Answer>;
}

/** A command that needs no store. */
export interface ConfigCommandDefinition<Given extends unknown[]> extends AnyCommand {
  runOnConfig: (config: () => Promise<Config>, ...given: Given) => Promise<Answer>;
}

export type CommandDefinition =
  | StoreCommandDefinition<never[]>
  | LeadCommandDefinition<never[]>
  | ConfigCommandDefinition<never[]>;

/** Commands below the same words. The help of a group shows the first example of each. */
export interface CommandGroup {
  words: string;
  alias?: string;
  summary: string;
  /** Default: the summary as a sentence. */
  description?: string;
}

/** Ends a command's help with commands that work as they stand. */
export const addExamples = (command: Command, examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);

/** Adds commands with their help texts below the program, each within its group. */
export const addCommands = (
  program: Command,
  { groups, commands }: { groups: readonly CommandGroup[]; commands: readonly CommandDefinition[] },
  context: CommandContext,
): void => {
  const parents = new Map<string, Command>([['', program]]);
  const parentOf = (words: string): [parent: Command, name: string] => {
    const [, above = '', name = ''] = /^(?:(.*) )?(\S+)$/.exec(words) ?? [];
    const parent = parents.get(above) ?? addGroup(above);
    return [parent, name];
  };
  const addGroup = (words: string): Command => {
    const group = groups.find((one) => one.words === words);
    if (group === undefined) throw new TypeError(`there is no group of commands "${words}"`);
    const { summary, description = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`, alias } = group;
    const [parent, name] = parentOf(words);
    const command = parent.command(name).summary(summary).description(description);
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
    const { words, summary, description, examples, appendix } = definition;
    const [parent, name] = parentOf(words);
    const command = parent.command(name).summary(summary).description(description);
    addExamples(command, examples);
    if (appendix !== undefined) command.addHelpText('after', appendix);
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    for (const option of definition.options ?? []) command.addOption(option);
    command.action((...given: unknown[]) => {
      // Commander passes what `arguments` and `options` have read.
      const values = given as never[];
      if ('runOnConfig' in definition)
        return context.runOnConfig((config) => definition.runOnConfig(config, ...values));
      const { isNewAllowed } = definition;
      return 'run' in definition
        ? context.run((session) => definition.run(session, ...values), isNewAllowed && { isNewAllowed })
        : context.runOnLeads({ isNewAllowed }, (session) => definition.runOnLeads(session, ...values));
    });
  }
};
