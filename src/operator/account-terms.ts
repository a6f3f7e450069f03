import { z } from 'zod';
import {
  AccountTermsError,
  checkAccountTerms,
  termsSchema,
  toTermsText,
  type AccountTerms,
} from '../accounts/catalog/account-terms.ts';
import { AppError } from '../kit/errors.ts';
import type { Account } from '../store/store.ts';
import { exampleAccountId } from './accounts.ts';
import { accountIdField } from './fields.ts';
import { operatorRead, operatorWrite, type OperatorServices } from './operator-operation.ts';
import { requireFound } from './require-found.ts';
import { defineView } from './view.ts';

const terms = {
  models: ['imagemodel-1.0'],
  prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.03' } },
  requests_per_minute: 1200,
};

/** The stored terms are not checked, as a newer version may have written them. */
const termsView = defineView<Account>({
  terms: 'Null: none of its own, so those of the gateway hold.',
})({
  account_id: [z.string(), 'id', exampleAccountId],
  terms: [
    z.record(z.string(), z.json()).nullable(),
    (account) => (account.terms === null ? null : JSON.parse(account.terms)),
    terms,
  ],
});

export type TermsAnswer = typeof termsView.example;

const common = {
  group: 'accounts',
  path: '/accounts/{account_id}/terms',
  output: termsView.schema,
  answer: 'AccountTerms',
  errors: ['account_not_found'],
} as const;

export const noTerms = ({ account_id: id }: TermsAnswer): string => `${id} has no terms of its own.`;

export const getAccountTerms = operatorRead({
  ...common,
  name: 'get_account_terms',
  title: 'Read the terms of an account',
  description: 'The own SKUs, prices and limits of an account.',
  fields: { account_id: accountIdField },
  example: { account_id: exampleAccountId },
  command: {
    usage: 'accounts terms show <account>',
    more: 'They are shown as YAML, a file for "terms set".',
    show: async (answer) => {
      const { stringify } = await import('yaml');
      return answer.terms === null ? noTerms(answer) : stringify(answer.terms).trimEnd();
    },
  },
  handle: async ({ account_id: id }, { store }) =>
    termsView.show(requireFound(await store.getAccount(id), 'account', id)),
});

/** Returns the text to store. Throws AppError that names the wrong part. */
const toCheckedText = async (terms: AccountTerms, { config }: OperatorServices): Promise<string> => {
  const { models } = await config();
  try {
    checkAccountTerms(terms, models);
    return toTermsText(terms);
  } catch (error) {
    if (!(error instanceof AccountTermsError)) throw error;
    throw new AppError('invalid_parameter', `terms.${error.message}`, { param: 'terms', cause: error });
  }
};

export const setAccountTerms = operatorWrite({
  ...common,
  name: 'set_account_terms',
  title: 'Replace the terms of an account',
  description:
    'Replaces the own SKUs, prices and limits of an account, from its next call on. Admitted jobs keep their price. The ' +
    'settings of the gateway hold for everything that the terms leave out.',
  fields: {
    account_id: accountIdField,
    terms: termsSchema.nullable().describe('All of its own terms; null removes them.'),
  },
  example: { account_id: exampleAccountId, terms },
  handle: async ({ account_id: id, terms }, services) => {
    const text = terms === null ? null : await toCheckedText(terms, services);
    const account = await services.store.setAccountTerms({ id, terms: text });
    return termsView.show(requireFound(account, 'account', id));
  },
});
