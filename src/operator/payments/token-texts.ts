import { ConfigError } from '../../kit/errors.ts';
import { createFindToken, createTokenTexts, type TokenTexts } from '../../purchases/token-amount.ts';
import type { OperatorServices } from '../operator-operation.ts';

/**
 * Creates writers that know the built-in tokens, and those of the configuration if it can be read, so that payments can be
 * shown while a setting is wrong.
 */
export const openTokenTexts = async ({ config }: Pick<OperatorServices, 'config'>): Promise<TokenTexts> => {
  try {
    return createTokenTexts(createFindToken((await config()).x402.networks));
  } catch (error) {
    if (error instanceof ConfigError) return createTokenTexts(createFindToken([]));
    throw error;
  }
};
