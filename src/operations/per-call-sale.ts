import type { Buyer } from '../catalog/catalog.ts';
import { AppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd, nanoPerUsd, type Nano } from '../kit/money.ts';
import type { ModelConfig } from '../catalog/model.ts';
import type { EarlierJob } from '../purchases/prepaid.ts';
import type { Operation, PerCall, Services, X402Sale } from './operation.ts';

/** Prices are whole tenths of a cent, which every token can pay. */
const priceStep = nanoPerUsd / 1_000n;

/** A settlement costs the seller about half of this on a cheap chain. What the call does not use stays balance. */
const leastPrice = nanoPerUsd / 100n;

const toPrice = (most: Nano): Nano => {
  const steps = (most + priceStep - 1n) / priceStep;
  return steps * priceStep < leastPrice ? leastPrice : steps * priceStep;
};

/** Clients of x402 refuse to pay more at once, unless they were told otherwise. */
export const usualPriceLimit: Nano = nanoPerUsd;

/** The calls a minute that one client address may ask the price of, or make, without a key. */
const ratePerMinute = 60;

/** Refuses a call without a key whose price is not known before it is paid. */
export const needsAccount = (reason: string): AppError =>
  new AppError(
    'invalid_api_key',
    `${reason}. Send it with a key: top up the account of your wallet (POST /v1/topup) and sign in with it.`,
  );

/** The buyer whose wallet is not known yet. */
export const unknownWallet = ({ config }: Pick<Services, 'config'>): Buyer => ({
  accountId: 'a wallet',
  terms: config.wallets.terms,
  isSandbox: !config.x402.takesRealMoney,
});

/** Returns prices of a SKU's calls, the lowest and the highest among them. Null: the caller sets how much is used. */
const pricesOf = ({ price, duration }: ModelConfig): (Nano | null)[] => {
  switch (price.unit) {
    case 'call':
      return [price.price];
    case 'token':
      return [0n, null];
    case 'second':
      return price.rates.flatMap((rate) =>
        [duration?.minimum ?? 1, duration?.maximum ?? 1].map((seconds) => rate.price * BigInt(seconds)),
      );
  }
};

/** Lets wallets without a key buy single calls of the prepaid operations. */
export const soldToWallets = (operation: Operation): Operation => {
  if (operation.sale === null) return operation;
  const { prepaid } = operation.sale;
  if (prepaid?.perCall === undefined) return operation;
  return { ...operation, sale: { prepaid, x402: toX402Sale(operation, prepaid.perCall) } };
};

/** Leaves the texts and lists of an example: catalogues show it, but every buyer sends it back in a header. */
const textsAndLists = (answer: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(answer).filter(
      ([, value]) => typeof value === 'string' || (Array.isArray(value) && value.length > 0),
    ),
  );

/** What all sales have in common whose payments raise a balance: money that buys nothing but the sandbox is not taken. */
export const creditSale = {
  isCredit: true,
  check: () => undefined,
  isFree: () => false,
  isSandbox: ({ config, catalogs }) => !config.x402.takesRealMoney || !catalogs.sellsReal(),
} satisfies Partial<X402Sale>;

const toX402Sale = (
  { docs, sells }: Pick<Operation, 'docs' | 'sells'>,
  { description, unit, tags, quote }: PerCall,
): X402Sale => {
  const [example] = docs.examples;
  const price: X402Sale['price'] = (input, services, buyer = unknownWallet(services)) =>
    toPrice(quote(input, buyer, services).most);
  return {
    ...creditSale,
    description,
    unit,
    tags,
    example: { input: example.body ?? {}, output: textsAndLists(example.answer ?? {}) },
    ratePerMinute,
    pricing: 'quote',
    price,
    priceRange: (services) => {
      const models = services.catalogs.for(unknownWallet(services)).list();
      const prices = models.filter(({ kind }) => kind === sells).flatMap(pricesOf);
      const known = prices.flatMap((one) => one ?? []).toSorted((a, b) => (a < b ? -1 : 1));
      const [least, most] = [known[0], known.at(-1)];
      if (least === undefined || most === undefined) return null;
      return { least: toPrice(least), most: prices.includes(null) ? null : toPrice(most) };
    },
    explain: (input, services, buyer = unknownWallet(services)) => quote(input, buyer, services).parts,
    produce: async () => ({}),
    sandbox: {
      description: `${description}, made by a sandbox`,
      goods: 'answers of a sandbox',
      notice: 'A sandbox makes the answers here.',
    },
  };
};

/** Returns the sale of a call beside an earlier job of its key: an answer that is owed is sold for what is owed. */
export const saleAfter = (earlier: EarlierJob | null, sale: X402Sale): X402Sale => {
  if (earlier?.outcome !== 'owed') return sale;
  const { charged } = earlier.job;
  return {
    ...sale,
    price: () => toPrice(charged),
    explain: () => ({ owed_usd: formatUsd(charged) }),
  };
};
