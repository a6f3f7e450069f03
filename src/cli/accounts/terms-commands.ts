import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import { parse as parseYaml, stringify as toYaml } from 'yaml';
import type { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { getAccountTerms, setAccountTerms } from '../../operator/accounts/account-terms.ts';
import type { Answer } from '../command-context.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { CommandError } from '../command-error.ts';
import { exampleAccount } from '../examples.ts';

/** The terms as they are written. */
type TermsInput = z.input<(typeof setAccountTerms)['input']>['terms'];

type TermsAnswer = z.output<(typeof getAccountTerms)['output']>;

const termsAnswer = (answer: TermsAnswer, toText: (terms: object) => string): Answer => ({
  json: answer,
  text: answer.terms === null ? `${answer.account_id} has no terms of its own.` : toText(answer.terms),
});

/** Throws CommandError `invalid_terms`, which names the file and its problem. */
const readTermsFile = (file: string): TermsInput => {
  let text: string;
  let terms: TermsInput;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalidTerms(file, 'it cannot be read', cause);
  }
  try {
    // The operation checks what is in it.
    terms = parseYaml(text) as TermsInput;
  } catch (cause) {
    const line = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : '';
    throw invalidTerms(file, `it is neither YAML nor JSON: ${line}`, cause);
  }
  if (terms === null) throw invalidTerms(file, 'it is empty; "terms clear" removes terms');
  return terms;
};

const invalidTerms = (file: string, problem: string, cause?: unknown): CommandError =>
  new CommandError('invalid_terms', `${file}: ${problem}`, { cause });

const show: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show the terms of an account',
  description: 'Shows the terms of an account as YAML, a file for "terms set".',
  examples: [`causeway accounts terms show ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) =>
    termsAnswer(await operate(getAccountTerms, { account_id: accountId }), (terms) =>
      toYaml(terms).trimEnd(),
    ),
};

const fileHelp = `
The file is YAML or JSON, and every part of it may be left out:
  models: [textmodel-3.5-flash, videomodel-2.0] # the enabled SKUs; absent: all
  prices:                                       # whole prices, as in causeway.yaml
    textmodel-3.5-flash: { unit: token, input_usd_per_1m: "0.90", output_usd_per_1m: "5.40" }
    videomodel-2.0:
      unit: second
      rates:
        - { resolution: 720p, price_usd: "0.03", with_video_price_usd: "0.02" }
  active_videos: 20                             # videos queued or running at once
  requests_per_minute: 1200                     # calls over REST and MCP together`;

const set: CommandDefinition<[string, { file: string }]> = {
  name: 'set',
  summary: 'replace the terms of an account',
  description:
    'Replaces the terms of an account with those of a file, from its next call on. Admitted jobs keep their price. The ' +
    'settings of the gateway (causeway.yaml and the environment) are read for its SKUs.',
  examples: [`causeway accounts terms set ${exampleAccount} --file terms.yaml`],
  appendix: fileHelp,
  arguments: [accountArgument],
  options: [new Option('--file <file>', 'YAML or JSON (required)').makeOptionMandatory()],
  run: async ({ operate }, accountId, { file }) => {
    const terms = readTermsFile(file);
    try {
      const set = await operate(setAccountTerms, { account_id: accountId, terms });
      return termsAnswer(set, () => `${accountId} now has the terms of ${file}.`);
    } catch (error) {
      if (!(error instanceof AppError && error.param?.startsWith('terms') === true)) throw error;
      throw invalidTerms(file, error.message.replaceAll(/(^|; )terms[.:] ?/g, '$1'), error);
    }
  },
};

const clear: CommandDefinition<[string]> = {
  name: 'clear',
  summary: 'remove the terms of an account',
  description: 'Removes the terms of an account: the SKUs, prices and limits of the gateway hold again.',
  examples: [`causeway accounts terms clear ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ operate }, accountId) =>
    termsAnswer(await operate(setAccountTerms, { account_id: accountId, terms: null }), String),
};

export const termsCommands: CommandGroup = {
  name: 'terms',
  summary: 'show, set and clear the terms of one account',
  description:
    'Shows, sets and clears the terms of one account: its enabled SKUs, its own prices and limits. The settings of the ' +
    'gateway hold for everything that its terms leave out.',
  commands: [show, set, clear],
};
