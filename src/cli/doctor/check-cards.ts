import type { Config } from '../../config/config.ts';
import { createStripeClient, type StripeAddress } from '../../payments/cards/stripe-client.ts';
import { readStore } from './check-store.ts';
import { orOk, problem, warning, type Finding, type Findings } from './finding.ts';

/** Checks whether Stripe takes the key, and whether accounts can buy with its kind of money. Nothing is charged. */
export const checkCards = async (
  config: Config,
  signal: AbortSignal,
  address?: StripeAddress,
): Promise<Findings> => {
  const { cards } = config;
  if (cards === null) return false;
  const [money, sandbox] = cards.isLive ? (['real', 0] as const) : (['test', 1] as const);
  return orOk(
    [
      await lookAtKey(cards.secretKey, signal, address),
      !(await hasAccounts(config, sandbox)) &&
        warning(
          `STRIPE_SECRET_KEY takes ${money} money, and no active account is ${cards.isLive ? 'for real money' : 'a sandbox'}.`,
          `Make such an account, or set a ${cards.isLive ? 'test' : 'live'} key.`,
        ),
    ],
    `Stripe takes STRIPE_SECRET_KEY, for ${money} money, and STRIPE_WEBHOOK_SECRET is set.`,
  );
};

/** The messages of Stripe are not shown: they have parts of the key. */
const lookAtKey = async (
  key: string,
  signal: AbortSignal,
  address?: StripeAddress,
): Promise<Finding | false> => {
  try {
    await createStripeClient(key, address).listEvents(undefined, 1, signal);
    return false;
  } catch (error) {
    const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
    return status === 401 || status === 403
      ? problem(
          `Stripe refuses STRIPE_SECRET_KEY (${status}).`,
          'Set a valid key with the rights of docs/operators-payments.md, "Cards".',
        )
      : problem('Stripe does not answer as it should.', 'Let this machine reach api.stripe.com by https.');
  }
};

/** The check of the store tells of one that cannot be read. */
const hasAccounts = async (config: Config, sandbox: 0 | 1): Promise<boolean> => {
  const text = `select id from accounts where sandbox = ${sandbox} and status = 'active' limit 1`;
  const found = await readStore(config, (read) => read(text)).catch(() => null);
  return found === null || found.length > 0;
};
