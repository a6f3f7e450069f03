import { z } from 'zod';
import { ConfigError } from '../../kit/errors.ts';
import { toggle, type VariableValues } from '../../kit/settings.ts';
import { AccountTermsError, checkAccountTerms, readAccountTerms, toTermsText } from './account-terms.ts';
import type { ModelConfig } from './model.ts';

export const walletVariables = {
  WALLET_ACCOUNTS: toggle('on', 'off', 'off').describe(
    '`on` sells everything to [wallets](operators-payments.md#wallet-accounts) without a key',
  ),
};

export const walletTermsSection = z
  .record(z.string(), z.unknown())
  .optional()
  .describe('SKUs, prices and limits of accounts of wallets, as in the terms of an account');

export type WalletConfig = ReturnType<typeof readWalletSettings>;

/** Throws ConfigError with one line that names the setting. */
export const readWalletSettings = (
  { WALLET_ACCOUNTS: isOn }: VariableValues<typeof walletVariables>,
  given: { terms: Record<string, unknown> | undefined; models: readonly ModelConfig[]; hasNetworks: boolean },
) => {
  const { terms, models, hasNetworks } = given;
  if (isOn && !hasNetworks)
    throw new ConfigError('WALLET_ACCOUNTS: needs a network to be paid on; X402_NETWORKS names none');
  return {
    isOn,
    /** The terms of wallets without terms of their own, as the store keeps terms; null: the gateway's prices. */
    terms: terms === undefined ? null : toCheckedText(terms, models),
  };
};

const toCheckedText = (document: Record<string, unknown>, models: readonly ModelConfig[]): string => {
  try {
    const terms = readAccountTerms(document);
    checkAccountTerms(terms, models);
    return toTermsText(terms);
  } catch (error) {
    if (error instanceof AccountTermsError)
      throw new ConfigError(`causeway.yaml: wallet_terms: ${error.message}`);
    throw error;
  }
};
