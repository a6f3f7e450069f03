import type { Command } from 'commander';

/** An account and a job, as the examples of the help texts name them. */
export const exampleAccount = '0b9f3c1e-5d0a-4c59-9a61-2f6f0f5f7d11';
export const exampleId = '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90';

/** Ends a command's help with commands that work as they stand. */
export const addExamples = (command: Command, examples: readonly string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);
