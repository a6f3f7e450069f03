import { z } from 'zod';
import {
  AccountTermsError,
  checkAccountTerms,
  termsSchema,
  toTermsText,
  type AccountTerms,
} from '../../catalog/account-terms.ts';
import { AppError } from '../../kit/errors.ts';
import type { Account } from '../../store/store.ts';
import { accountIdField } from '../fields.ts';
import { operatorRead, operatorWrite, type OperatorServices } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { exampleAccount } from './account-view.ts';

const output = z.strictObject({
  account_id: z.string(),
  terms: z
    .record(z.string(), z.json())
    .nullable()
    .describe('Null: none of its own, so those of the gateway hold.'),
});

/** Answers with the stored terms unread, as a newer version may have written them. */
const toTermsView = ({ id, terms }: Account): z.output<typeof output> => ({
  account_id: id,
  terms: terms === null ? null : JSON.parse(terms),
});

const exampleTerms = {
  models: ['imagemodel-1.0'],
  prices: { 'imagemodel-1.0': { unit: 'call', price_usd: '0.03' } },
  requests_per_minute: 1200,
};
const exampleAnswer = { account_id: exampleAccount.id, terms: exampleTerms };

export const getAccountTerms = operatorRead({
  name: 'get_account_terms',
  title: 'Read the terms of an account',
  description: 'The own SKUs, prices and limits of an account.',
  group: 'accounts',
  path: '/accounts/{account_id}/terms',
  fields: { account_id: accountIdField },
  output,
  answer: 'AccountTerms',
  example: { input: { account_id: exampleAccount.id }, answer: exampleAnswer },
  errors: ['account_not_found'],
  handle: async ({ account_id: id }, { store }) =>
    toTermsView(requireFound(await store.getAccount(id), 'account', id)),
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
  name: 'set_account_terms',
  title: 'Replace the terms of an account',
  description:
    'Replaces the own SKUs, prices and limits of an account, from its next call on. Admitted jobs keep their price. The ' +
    'settings of the gateway hold for everything that the terms leave out.',
  group: 'accounts',
  path: '/accounts/{account_id}/terms',
  fields: {
    account_id: accountIdField,
    terms: termsSchema.nullable().describe('All of its own terms; null removes them.'),
  },
  output,
  answer: 'AccountTerms',
  example: { input: { account_id: exampleAccount.id, terms: exampleTerms }, answer: exampleAnswer },
  errors: ['account_not_found'],
  handle: async ({ account_id: id, terms }, services) => {
    const text = terms === null ? null : await toCheckedText(terms, services);
    const account = await services.store.setAccountTerms({ id, terms: text });
    return toTermsView(requireFound(account, 'account', id));
  },
});
