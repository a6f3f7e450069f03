import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import { parse as parseYaml, stringify as toYaml } from 'yaml';
import {
  AccountTermsError,
  checkAccountTerms,
  readAccountTerms,
  toTermsText,
} from '../../catalog/account-terms.ts';
import type { ModelConfig } from '../../catalog/model.ts';
import type { Account } from '../../store/store.ts';
import type { Answer, Session } from '../command-context.ts';
import { accountArgument, type CommandDefinition, type CommandGroup } from '../command-definition.ts';
import { CommandError, requireFound } from '../command-error.ts';
import { exampleAccount } from '../examples.ts';

const setTerms = async ({ store }: Session, accountId: string, terms: string | null): Promise<Account> =>
  requireFound(await store.setAccountTerms({ id: accountId, terms }), 'account', accountId);

/** Answers with the stored terms unread, as a newer version may have written them. */
const termsAnswer = ({ id, name, terms }: Account, toText: (document: unknown) => string): Answer => {
  const document = terms === null ? null : JSON.parse(terms);
  return {
    json: { account_id: id, terms: document },
    text: document === null ? `${id} (${name}) has no terms of its own.` : toText(document),
  };
};

/** Returns the text to store. Throws CommandError `invalid_terms`, which names the file and its problem. */
const readTermsFile = (file: string, models: readonly ModelConfig[]): string => {
  const document = parseTermsFile(file);
  if (document === null) throw invalidTerms(file, 'it is empty; "terms clear" removes terms');
  try {
    const terms = readAccountTerms(document);
    checkAccountTerms(terms, models);
    return toTermsText(terms);
  } catch (error) {
    if (error instanceof AccountTermsError) throw invalidTerms(file, error.message, error);
    throw error;
  }
};

const parseTermsFile = (file: string): unknown => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalidTerms(file, 'it cannot be read', cause);
  }
  try {
    return parseYaml(text) ?? null;
  } catch (cause) {
    const line = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : '';
    throw invalidTerms(file, `it is neither YAML nor JSON: ${line}`, cause);
  }
};

const invalidTerms = (file: string, problem: string, cause?: unknown): CommandError =>
  new CommandError('invalid_terms', `${file}: ${problem}`, { cause });

const show: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show the terms of an account',
  description: 'Shows the terms of an account as YAML, a file for "terms set".',
  examples: [`causeway accounts terms show ${exampleAccount}`],
  arguments: [accountArgument],
  run: async ({ store }, accountId) => {
    const account = requireFound(await store.getAccount(accountId), 'account', accountId);
    return termsAnswer(account, (document) => toYaml(document).trimEnd());
  },
};

const fileHelp = `
The file is YAML or JSON, and every part of it may be left out:
  skus: [textmodel-3.5-flash, videomodel-2.0]   # the enabled SKUs; absent: all
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
  run: async (session, accountId, { file }) => {
    const { models } = await session.config();
    const account = await setTerms(session, accountId, readTermsFile(file, models));
    return termsAnswer(account, () => `${account.id} (${account.name}) now has the terms of ${file}.`);
  },
};

const clear: CommandDefinition<[string]> = {
  name: 'clear',
  summary: 'remove the terms of an account',
  description: 'Removes the terms of an account: the SKUs, prices and limits of the gateway hold again.',
  examples: [`causeway accounts terms clear ${exampleAccount}`],
  arguments: [accountArgument],
  run: async (session, accountId) => termsAnswer(await setTerms(session, accountId, null), String),
};

export const termsCommands: CommandGroup = {
  name: 'terms',
  summary: 'show, set and clear the terms of one account',
  description:
    'Shows, sets and clears the terms of one account: its enabled SKUs, its own prices and limits. The settings of the ' +
    'gateway hold for everything that its terms leave out.',
  commands: [show, set, clear],
};
