import { Argument, Option, type Command } from 'commander';
import type { Answer, CommandContext, LeadSession, Session } from './command-context.ts';
import { addExamples } from './examples.ts';
import { readCount } from './read-arguments.ts';

interface CommandTexts {
  name: string;
  /** One line in the list of commands. */
  summary: string;
  description: string;
}

interface AnyCommand extends CommandTexts {
  /** Commands that work as they stand. */
  examples: readonly [string, ...string[]];
  /** Stands below the examples. */
  appendix?: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Creates a missing embedded store, or index of profiles. */
  isNewAllowed?: true;
}

/** A command on the store. `Given`: the values of its arguments, then its options, then commander's own command. */
export interface CommandDefinition<Given extends unknown[]> extends AnyCommand {
  run: (session: Session, ...given: Given) => Promise<Answer>;
}

/** A command on the profiles. */
export interface LeadCommandDefinition<Given extends unknown[]> extends AnyCommand {
  runOnLeads: (session: LeadSession, ...given: Given) => Promise<Answer>;
}

/** Commands below one word. The help of the group shows the first example of each. */
export interface CommandGroup extends CommandTexts {
  alias?: string;
  commands: readonly Definition[];
}

type Definition = CommandGroup | CommandDefinition<never[]> | LeadCommandDefinition<never[]>;

const examplesOf = (definition: Definition): readonly string[] =>
  'commands' in definition
    ? definition.commands.flatMap((command) => examplesOf(command)[0] ?? [])
    : definition.examples;

/** Adds commands below `parent`, with their help texts. */
export const addCommands = (
  parent: Command,
  definitions: readonly Definition[],
  context: CommandContext,
): void => {
  for (const definition of definitions) {
    const { name, summary, description } = definition;
    const command = parent.command(name).summary(summary).description(description);
    addExamples(command, examplesOf(definition));
    if ('commands' in definition) {
      if (definition.alias !== undefined) command.alias(definition.alias);
      addCommands(command, definition.commands, context);
      continue;
    }
    const { appendix, isNewAllowed } = definition;
    if (appendix !== undefined) command.addHelpText('after', appendix);
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    for (const option of definition.options ?? []) command.addOption(option);
    command.action((...given: unknown[]) => {
      // Commander passes what `arguments` and `options` have read.
      const values = given as never[];
      return 'run' in definition
        ? context.run((session) => definition.run(session, ...values), isNewAllowed && { isNewAllowed })
        : context.runOnLeads({ isNewAllowed }, (session) => definition.runOnLeads(session, ...values));
    });
  }
};

export const accountArgument = new Argument('<account>', 'id of the account');

/** The option `--limit`. `verb` names the work of the command. */
export const limitOption = (maximum: number, usual: number, verb: 'list' | 'check' = 'list'): Option =>
  new Option('--limit <count>', `${verb} at most this many`).argParser(readCount(maximum)).default(usual);
