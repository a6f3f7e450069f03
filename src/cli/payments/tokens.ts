import { ConfigError } from '../../kit/errors.ts';
import { createFindToken, type FindToken } from '../../purchases/token-amount.ts';
import type { Session } from '../command-context.ts';
import { CommandError } from '../command-error.ts';

/**
 * The tokens that payments can be in: the built-in ones, and those of the gateway's configuration as far as it can be
 * read, so that payments can be looked at while a setting is wrong.
 */
export const readTokens = async ({ config }: Pick<Session, 'config'>): Promise<FindToken> => {
  try {
    return createFindToken((await config()).x402.networks);
  } catch (error) {
    if (error instanceof ConfigError || error instanceof CommandError) return createFindToken([]);
    throw error;
  }
};
