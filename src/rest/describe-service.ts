import type { Price } from '../accounts/catalog/model.ts';
import { brandTitle, firstSentence } from '../kit/text.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatRate, formatUsd } from '../kit/money.ts';
import { createOffered, isSold, rulesOf } from '../operations/sale-rules.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { skuExample, soldExample, unknownWallet } from '../operations/per-call-sale.ts';
import type { PriceRange, SaleDescription, X402Gate } from '../payments/sale/gate.ts';
import { isConsoleBuilt } from './console/console-files.ts';

/** Where an operation is called. */
interface Callable {
  name: string;
  title: string;
  /** One sentence. */
  summary: string;
  method: string;
  url: string;
  isTool: boolean;
}

/** What can be bought call by call. */
export interface Good extends Callable, Pick<ReturnType<X402Gate['payable']>, 'accepts'> {
  sale: SaleDescription;
  /** In US dollars, of the cheapest and the dearest call; null: it has no upper bound. */
  price: { min: string; max: string | null };
  /** The parameters or the body of a call, as JSON. */
  example: JsonObject;
  /** Tells of made-up answers; null: there are none. */
  notice: string | null;
}

/** An operation that is sold, with all ways to pay for it. */
export interface Offer extends Callable {
  /** Whether an account may call it with its key. */
  takesKey: boolean;
  /** The SKUs that it sells; empty: it sells something else. */
  models: ReturnType<typeof soldModels>;
  /** What of it can be bought call by call. */
  goods: Good[];
  /** The body of a call, as JSON. */
  example: JsonObject;
}

/** All that the faces of the service tell: the home page, `/llms.txt`, `server.json` and the manifest. */
export type ServiceDescription = ReturnType<typeof describeService>;

/** Returns a function that describes the service as it is now. The object is the same until something changes. */
export const createServiceDescription = (
  services: Services & { operations: readonly Operation[] },
): (() => ServiceDescription) => {
  const onSale = createOffered(services.operations, services, (operations) => operations);
  let known: { parts: readonly unknown[]; description: ServiceDescription } | null = null;
  return () => {
    const operations = onSale();
    const models = soldModels(services);
    const goods = describeGoods({ operations, models }, services);
    const told = goods.map(({ url, price, accepts, notice }) => [url, price, accepts, notice]);
    const networks = services.x402.status().map(({ ready }) => ready);
    const parts = [services.publicUrl(), operations, models, JSON.stringify(told), ...networks];
    if (known === null || parts.some((part, index) => part !== known?.parts[index]))
      known = { parts, description: describeService({ operations, models, goods }, services) };
    return known.description;
  };
};

/** The SKUs at the prices of a newcomer: a wallet, or an account without terms of its own. */
const soldModels = (services: Services) => {
  const { catalogs, config } = services;
  const buyer = { accountId: 'a newcomer', terms: null, isSandbox: false };
  return catalogs.for(config.wallets.isOn ? unknownWallet(services) : buyer).list();
};

interface Offered {
  operations: readonly Operation[];
  models: ReturnType<typeof soldModels>;
}

const toCallable =
  (url: string) =>
  ({ name, title, description, rest, tool }: Operation): Callable => ({
    name,
    title,
    summary: firstSentence(description),
    method: rest.method,
    url: `${url}${rest.path}`,
    isTool: tool !== null,
  });

const saleOf = ({ name }: Operation, { x402 }: Services): SaleDescription | undefined =>
  x402.sales.find((sale) => sale.name === name);

/** Lists what can be bought now, at prices that somebody can pay. */
const describeGoods = ({ operations, models }: Offered, services: Services): Good[] =>
  operations.flatMap((operation): Good[] => {
    const sale = saleOf(operation, services);
    const range = sale === undefined || sale.isFree === true ? null : sale.price();
    if (sale === undefined || range === null) return [];
    const model = models.find(({ kind }) => kind === operation.sells);
    const url = services.publicUrl();
    const good = {
      ...toCallable(url)(operation),
      sale,
      ...payableOf(range, services),
      example: { ...sale.inputExample, ...(model === undefined ? {} : skuExample(model)) },
      notice: sale.notice(),
    };
    const items = sale.items?.()?.map(({ name, path, price, note, inputExample }) => ({
      ...{ ...good, name, title: name, url: url + path, example: inputExample, summary: `${note}.` },
      ...payableOf({ least: price, most: price }, services),
    }));
    return items ?? [good];
  });

const payableOf = (range: PriceRange, { x402 }: Services): Pick<Good, 'price' | 'accepts'> => {
  const { price, accepts } = x402.payable(range);
  const max = price.most === null ? null : formatUsd(price.most);
  return { accepts, price: { min: formatUsd(price.least), max } };
};

const describeService = ({ operations, models, goods }: Offered & { goods: Good[] }, services: Services) => {
  const { config, catalogs, x402 } = services;
  const url = services.publicUrl();
  return {
    brand: config.brand,
    title: brandTitle(config),
    hasConsole: config.hasConsole && isConsoleBuilt(),
    summary: toSummary(goods) + (goods.length > 0 ? dialectSentence(config.x402) : ''),
    url,
    goods,
    offers: describeOffers({ operations, models, goods }, services),
    /** What is free and needs no key. */
    free: operations
      .filter(({ sale }) => rulesOf(sale).isOpen || rulesOf(sale).isSignIn)
      .map(toCallable(url)),
    /** Where wallets get a key; null: wallets have no accounts here. */
    signIn: operations.find(({ sale }) => rulesOf(sale).isSignIn)?.rest ?? null,
    models: models.map(({ sku, kind, price }) => ({ sku, kind, price })),
    /** Whether a sandbox serves the models. */
    isSandbox: !catalogs.sellsReal() || (config.wallets.isOn && !config.x402.takesRealMoney),
    /** The networks on which payments can be taken now. */
    networks: goods.length === 0 ? [] : x402.status().filter(({ ready }) => ready),
  };
};

/** Lists what is sold now, to callers with a key and without one. */
const describeOffers = ({ operations, models, goods }: Offered & { goods: Good[] }, services: Services) =>
  operations
    .filter(({ sale }) => isSold(sale) && !rulesOf(sale).isSignIn)
    .map((operation): Offer => {
      const { name, sale, sells, docs } = operation;
      return {
        ...toCallable(services.publicUrl())(operation),
        takesKey: rulesOf(sale).key !== 'none',
        models: models.filter(({ kind }) => kind === sells),
        goods: goods.filter((good) => good.sale.name === name),
        example: soldExample(operation, docs.examples[0].body ?? {}, models),
      };
    })
    .filter((offer) => offer.models.length + offer.goods.length > 0);

const dialectSentence = ({ dialects }: Services['config']['x402']): string =>
  dialects.length === 0 ? '' : ` ${nameAll(dialects.map(({ name }) => name))} is taken beside x402.`;

/** Names the goods that are sold call by call alone, such as "influencer search". */
export const namesOf = (goods: readonly Good[]): string[] =>
  goods.filter(({ sale }) => !sale.isCredit).map(({ sale }) => decapitalised(sale.descriptions.real));

const toSummary = (goods: readonly Good[]): string => {
  const others = namesOf(goods);
  const generation = 'Generation of images, video and text';
  if (others.length < goods.length)
    return (
      `${generation}${others.length === 0 ? '' : `, and ${nameAll(others)}`}. Each call is paid by itself with USDC (x402), without an account, or from the ` +
      'balance of an API key.'
    );
  if (others.length === 0) return `${generation} with an API key.`;
  return `${generation} with an API key, and ${nameAll(others)} that ${others.length === 1 ? 'is' : 'are'} paid for each request, without an account.`;
};

export const nameAll = (names: readonly string[]): string => new Intl.ListFormat('en').format(names);

export const decapitalised = (text: string): string => text.replace(/^./, (first) => first.toLowerCase());

/** Returns a price as people read it, such as "$0.04 a call". */
export const priceInWords = (price: Price): string => {
  switch (price.unit) {
    case 'call':
      return `$${formatUsd(price.price)} a call`;
    case 'token':
      return `$${formatRate(price.input)} for a million tokens in, $${formatRate(price.output)} out`;
    case 'second':
      return `${price.rates.map((rate) => `${rate.resolution} $${formatUsd(rate.price)}`).join(', ')} a second`;
  }
};

/** Returns the prices of a good, such as "$0.10 to $0.26 for each search". */
export const rangeInWords = ({ price: { min, max }, sale: { unit } }: Good): string => {
  if (max === null) return `from $${min} for each ${unit}, quoted by its input, without a maximum`;
  return `$${min}${min === max ? '' : ` to $${max}`} for each ${unit}`;
};
