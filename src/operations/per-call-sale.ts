import type { Buyer } from '../accounts/catalog/catalog.ts';
import { AppError } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatUsd, nanoPerUsd, type Nano } from '../kit/money.ts';
import type { ModelConfig } from '../accounts/catalog/model.ts';
import type { Job } from '../store/store.ts';
import type { Services } from './call.ts';
import type { Operation } from './definition.ts';
import { prepaidOf } from './sale-rules.ts';
import type { PerCall, PerCallSale, PrepaidSale, Quote } from './sale.ts';

/** Prices are whole tenths of a cent, which every token can pay. */
const priceStep = nanoPerUsd / 1_000n;

/** A settlement costs the seller about half of this on a cheap chain. What the call does not use stays balance. */
const leastPrice = nanoPerUsd / 100n;

const toPrice = (most: Nano): Nano => {
  const steps = (most + priceStep - 1n) / priceStep;
  return steps * priceStep < leastPrice ? leastPrice : steps * priceStep;
};

/** By default clients of x402 refuse to pay more at once. */
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
  const { sale } = operation;
  const prepaid = prepaidOf(sale);
  return prepaid?.perCall === undefined
    ? operation
    : { ...operation, sale: toPerCallSale(operation, prepaid, prepaid.perCall) };
};

/** Returns the example with a SKU of `models`, which are sold, at its shortest length and first resolution. */
export const soldExample = (
  { sells }: Pick<Operation, 'sells'>,
  example: JsonObject,
  models: readonly ModelConfig[],
): JsonObject => {
  const model = models.find(({ kind }) => kind === sells);
  if (model === undefined || models.some(({ sku }) => sku === example['model'])) return example;
  return { ...example, ...skuExample(model) };
};

/** The part of an example that names a SKU, which must exist and be sold in this way. */
export const skuExample = ({ sku: model, price, duration }: ModelConfig): JsonObject =>
  price.unit !== 'second' || duration === null
    ? { model }
    : { model, duration: duration.minimum, resolution: price.rates[0]?.resolution ?? null };

/** Leaves the texts and lists of an example: catalogues show it, but every buyer sends it back in a header. */
const textsAndLists = (answer: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(answer).filter(
      ([, value]) => typeof value === 'string' || (Array.isArray(value) && value.length > 0),
    ),
  );

const toPerCallSale = (
  { docs, sells }: Pick<Operation, 'docs' | 'sells'>,
  prepaid: PrepaidSale,
  { quote, check, items, ...offer }: PerCall,
): PerCallSale => {
  const [example] = docs.examples;
  const { description } = offer;
  return {
    kind: 'perCall',
    prepaid,
    check,
    ...offer,
    example: { input: example.body ?? {}, output: textsAndLists(example.answer ?? {}) },
    ratePerMinute,
    pricing: 'quote',
    ...(items && {
      items: (services) => items(services).map((item) => ({ ...item, price: toPrice(item.price) })),
    }),
    quote: async (input, services, buyer = unknownWallet(services)) => {
      const { most, ...rest } = await quote(input, buyer, services);
      return { ...rest, price: toPrice(most) };
    },
    priceRange: (services) => {
      const models = services.catalogs.for(unknownWallet(services)).list();
      const prices =
        items?.(services).map(({ price }): Nano | null => price) ??
        models.filter(({ kind }) => kind === sells).flatMap(pricesOf);
      const known = prices.flatMap((one) => one ?? []).toSorted((a, b) => (a < b ? -1 : 1));
      const [least, most] = [known[0], known.at(-1)];
      if (least === undefined || most === undefined) return null;
      return { least: toPrice(least), most: prices.includes(null) ? null : toPrice(most) };
    },
    sandbox: {
      description: `${description}, made by a sandbox`,
      goods: 'answers of a sandbox',
      notice: 'A sandbox makes the answers here.',
    },
  };
};

/** Quotes an answer that was made, and withheld because its payment failed. */
export const quoteOwed = ({ charged }: Pick<Job, 'charged'>): Quote => ({
  price: toPrice(charged),
  parts: { owed_usd: formatUsd(charged) },
});
