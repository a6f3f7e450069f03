import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { AppError } from '../kit/errors.ts';
import { noTerms, setAccountTerms } from '../operator/accounts.ts';
import { accountIdField, exampleAccountId } from '../operator/fields.ts';
import type { CommandDefinition } from './command.ts';
import { CommandError } from './command-error.ts';
import { toCommand } from './form-command.ts';

type TermsInput = z.input<(typeof setAccountTerms)['input']>['terms'];

/** Throws CommandError `invalid_terms`, which names the file and its problem. */
const readTermsFile = (file: string): TermsInput => {
  try {
    // The verb checks what is in it.
    const terms = parseYaml(readFileSync(file, 'utf8')) as TermsInput;
    if (terms !== null) return terms;
  } catch (cause) {
    if (!(cause instanceof Error) || 'syscall' in cause) throw invalidTerms(file, 'it cannot be read', cause);
    throw invalidTerms(file, `it is neither YAML nor JSON: ${cause.message.split('\n')[0]}`, cause);
  }
  throw invalidTerms(file, 'it is empty; "terms clear" removes terms');
};

const invalidTerms = (file: string, problem: string, cause?: unknown): CommandError =>
  new CommandError('invalid_terms', `${file}: ${problem}`, { cause });

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

const set = toCommand({
  usage: 'accounts terms set <account> --file <file>',
  title: setAccountTerms.title,
  description: setAccountTerms.description,
  more: 'The SKUs are read from the settings of the gateway (causeway.yaml and the environment).',
  fields: { account_id: accountIdField, file: z.string().describe('YAML or JSON.') },
  example: { account_id: exampleAccountId, file: 'terms.yaml' },
  appendix: fileHelp,
  run: async ({ openStore }, { account_id: accountId, file }) => {
    const { operate } = await openStore();
    const terms = readTermsFile(file);
    try {
      const json = await operate(setAccountTerms, { account_id: accountId, terms });
      return { json, text: `${accountId} now has the terms of ${file}.` };
    } catch (error) {
      if (!(error instanceof AppError && error.param?.startsWith('terms') === true)) throw error;
      throw invalidTerms(file, error.message.replaceAll(/(^|; )terms[.:] ?/g, '$1'), error);
    }
  },
});

const clear = toCommand({
  usage: 'accounts terms clear <account>',
  title: 'Remove the terms of an account',
  description: 'Removes the terms of an account: the SKUs, prices and limits of the gateway hold again.',
  fields: { account_id: accountIdField },
  example: { account_id: exampleAccountId },
  run: async ({ openStore }, { account_id: accountId }) => {
    const { operate } = await openStore();
    const json = await operate(setAccountTerms, { account_id: accountId, terms: null });
    return { json, text: noTerms(json) };
  },
});

/** Terms are read from a file, so these commands are written by hand. */
export const termsCommands: readonly CommandDefinition[] = [set, clear];
