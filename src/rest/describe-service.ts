import type { ModelConfig, Price } from '../catalog/model.ts';
import { brandTitle } from '../kit/brand-title.ts';
import { firstSentence } from '../kit/first-sentence.ts';
import type { JsonObject } from '../kit/json.ts';
import { formatRate, formatUsd } from '../kit/money.ts';
import { createOffered, isOnSale, listedOf, noticeOf, rulesOf } from '../operations/sale-rules.ts';
import type { Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { unknownWallet } from '../operations/per-call-sale.ts';
import type { PriceRange } from '../purchases/x402/x402-gate.ts';

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

interface Good extends Callable {
  /** One call, such as "search". */
  unit: string;
  price: PriceRange;
  /** The parameters or the body of a call, as JSON. */
  example: JsonObject;
  /** Whether a payment is balance. */
  isCredit: boolean;
  /** Names the goods, such as "influencer search". */
  goods: string;
  /** Tells of made-up answers; null: there are none. */
  notice: string | null;
}

/** What the home page, `/llms.txt` and `server.json` tell. */
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
    const notices = operations.map(({ sale }) => noticeOf(sale, services));
    const networks = services.x402.status().map(({ ready }) => ready);
    const parts = [services.publicUrl(), operations, models, ...notices, ...networks];
    if (known === null || parts.some((part, index) => part !== known?.parts[index]))
      known = { parts, description: describeService({ operations, models }, services) };
    return known.description;
  };
};

/** The SKUs at the prices of a newcomer: a wallet, or an account without terms of its own. */
const soldModels = (services: Services) => {
  const { catalogs, config } = services;
  const buyer = { accountId: 'a newcomer', terms: null, isSandbox: false };
  return catalogs.for(config.wallets.isOn ? unknownWallet(services) : buyer).list();
};

const describeService = (
  { operations, models }: { operations: readonly Operation[]; models: ReturnType<typeof soldModels> },
  services: Services,
) => {
  const { config, catalogs, x402 } = services;
  const url = services.publicUrl();
  const toCallable = ({ name, title, description, rest, tool }: Operation): Callable => ({
    name,
    title,
    summary: firstSentence(description),
    method: rest.method,
    url: `${url}${rest.path}`,
    isTool: tool !== null,
  });
  const goods = operations.flatMap((operation): Good[] => {
    const sale = listedOf(operation.sale);
    if (sale === null || !isOnSale(sale, services)) return [];
    const price = sale.priceRange(services);
    if (price === null) return [];
    const model = models.find(({ kind }) => kind === operation.sells);
    return [
      {
        ...toCallable(operation),
        unit: sale.unit.one,
        price,
        example: { ...sale.example.input, ...(model === undefined ? {} : exampleOf(model)) },
        isCredit: rulesOf(sale).isCredit,
        goods: decapitalised(sale.description),
        notice: noticeOf(sale, services),
      },
    ];
  });
  return {
    brand: config.brand,
    title: brandTitle(config),
    summary: toSummary(goods) + (goods.length > 0 && config.x402.speaksMpp ? mppSentence : ''),
    url,
    goods,
    /** What is free and needs no key. */
    free: operations.filter(({ sale }) => rulesOf(sale).isFreeForAll).map(toCallable),
    /** Where wallets get a key; null: wallets have no accounts here. */
    signIn: operations.find(({ sale }) => sale.kind === 'signIn')?.rest ?? null,
    models: models.map(({ sku, kind, price }) => ({ sku, kind, price })),
    /** Whether a sandbox serves the models. */
    isSandbox: !catalogs.sellsReal() || (config.wallets.isOn && !config.x402.takesRealMoney),
    /** The networks on which payments can be taken now. */
    networks: goods.length === 0 ? [] : x402.status().filter(({ ready }) => ready),
  };
};

/** What an example says of a SKU: it exists, and is sold so. */
const exampleOf = ({ sku: model, price, duration }: ModelConfig): JsonObject =>
  price.unit !== 'second' || duration === null
    ? { model }
    : { model, duration: duration.minimum, resolution: price.rates[0]?.resolution ?? null };

const mppSentence = ' MPP is taken beside x402.';

const toSummary = (goods: readonly Good[]): string => {
  const others = goods.filter(({ isCredit }) => !isCredit).map((good) => good.goods);
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
export const rangeInWords = ({ price: { least, most }, unit }: Good): string => {
  if (most === null)
    return `from $${formatUsd(least)} for each ${unit}, quoted by its input, without a maximum`;
  return `$${formatUsd(least)}${least === most ? '' : ` to $${formatUsd(most)}`} for each ${unit}`;
};
