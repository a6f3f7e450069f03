import { Argument, Option, type Command } from 'commander';
import type { Answer, CommandContext, Session } from './command-context.ts';
import { addExamples } from './examples.ts';
import { readCount } from './read-arguments.ts';

interface CommandTexts {
  name: string;
  /** One line in the list of commands. */
  summary: string;
  description: string;
  /** Commands that work as they stand. */
  examples: readonly string[];
  /** Stands below the examples. */
  appendix?: string;
}

/** A command on the store. `Given`: the values of its arguments, then its options, then commander's own command. */
export interface CommandDefinition<Given extends unknown[]> extends CommandTexts {
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Creates a missing embedded store. */
  isNewAllowed?: true;
  run: (session: Session, ...given: Given) => Promise<Answer>;
}

export interface CommandGroup extends CommandTexts {
  alias?: string;
  commands: readonly (CommandGroup | CommandDefinition<never[]>)[];
}

/** Adds commands below `parent`, with their help texts. */
export const addCommands = (
  parent: Command,
  definitions: CommandGroup['commands'],
  context: CommandContext,
): void => {
  for (const definition of definitions) {
    const { name, summary, description, examples, appendix } = definition;
    const command = addExamples(parent.command(name).summary(summary).description(description), examples);
    if (appendix !== undefined) command.addHelpText('after', appendix);
    if ('commands' in definition) {
      if (definition.alias !== undefined) command.alias(definition.alias);
      addCommands(command, definition.commands, context);
      continue;
    }
    const { run, isNewAllowed } = definition;
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    for (const option of definition.options ?? []) command.addOption(option);
    command.action((...given: unknown[]) =>
      // Commander passes what `arguments` and `options` have read.
      context.run((session) => run(session, ...(given as never[])), isNewAllowed && { isNewAllowed }),
    );
  }
};

export const accountArgument = new Argument('<account>', 'id of the account');

/** The option `--limit`. `verb` names the work of the command. */
export const limitOption = (maximum: number, usual: number, verb: 'list' | 'check' = 'list'): Option =>
  new Option('--limit <count>', `${verb} at most this many`).argParser(readCount(maximum)).default(usual);
