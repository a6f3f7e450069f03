import { z } from 'zod';
import { toPriceDocument } from '../accounts/catalog/account-terms.ts';
import { modelsAt } from '../accounts/catalog/model-changes.ts';
import { type ModelConfig, pricedBy, priceSchema, type Price } from '../accounts/catalog/model.ts';
import { isoOrNull } from '../kit/clock.ts';
import { AppError, wrongField } from '../kit/errors.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { count, time, timeOf, usd } from '../operations/answer-fields.ts';
import { defineView, toPage } from '../operations/view.ts';
import { modelKinds } from '../providers/provider.ts';
import { priceInWords } from '../rest/describe-service.ts';
import type { ModelChangeRow, ModelSum, SoldAs } from '../store/store.ts';
import { dayFields, limitField, lineField, showDays, shownDays, toDays } from './fields.ts';
import { readVerb, writeVerb, type OperatorServices } from './verb.ts';

/** A SKU of the settings, and its change that holds now. */
interface ListedModel {
  model: ModelConfig;
  change: ModelChangeRow | null;
}

/** The price in place of that of the settings; null: there is none. */
const ownPrice = ({ change }: ListedModel): Price | null => priceSchema.safeParse(change?.price).data ?? null;

const toSoldAs = (listed: ListedModel): SoldAs => {
  const { model, change } = listed;
  return {
    on: modelsAt([model], change === null ? [] : [change]).length > 0,
    price: toPriceDocument(ownPrice(listed) ?? model.price),
  };
};

const priceDocument = z.record(z.string(), z.json());
const examplePrice = { unit: 'call', price_usd: '0.05' };

const modelView = defineView<ListedModel>({
  on: 'False: nobody can buy it.',
  price: 'The price in force, in the form of causeway.yaml. Accounts may have prices of their own.',
  changed: 'True: it is sold as an operator changed it, and not as the settings say.',
})({
  sku: [z.string(), ({ model }) => model.sku, 'imagemodel-1.0'],
  kind: [z.enum(modelKinds), ({ model }) => model.kind, 'image'],
  on: [z.boolean(), (listed) => toSoldAs(listed).on, true],
  price: [priceDocument, (listed) => toSoldAs(listed).price, examplePrice],
  changed: [z.boolean(), ({ change }) => change !== null && (change.isOff || change.price !== null), true],
  changed_at: [time.nullable(), ({ change }) => isoOrNull(change?.at ?? null), '2026-11-01T08:00:00.000Z'],
  changed_by: [z.string().nullable(), ({ change }) => change?.changedBy ?? null, 'cli:root'],
});

/** Lists the SKUs of the settings with the changes that hold now. */
const listAll = async ({ config, store, clock }: OperatorServices): Promise<ListedModel[]> => {
  const [{ models }, changes] = [await config(), await store.listModelChanges(clock.now())];
  // Of several, the last one holds: clocks of gateways differ.
  const bySku = new Map(changes.map((change) => [change.sku, change]));
  return models.map((model) => ({ model, change: bySku.get(model.sku) ?? null }));
};

const findListed = async (sku: string, services: OperatorServices): Promise<ListedModel> => {
  const all = await listAll(services);
  const found = all.find(({ model }) => model.sku === sku);
  if (found !== undefined) return found;
  const known = all.map(({ model }) => model.sku).join(', ');
  throw new AppError('not_found', `There is no SKU ${JSON.stringify(sku)}. Known SKUs are ${known}.`);
};

const shownPrice = (price: unknown): string => {
  const read = priceSchema.safeParse(price).data;
  return read === undefined ? JSON.stringify(price) : priceInWords(read);
};

const table = {
  columns: 'sku kind on price_in_words=PRICE changed changed_at=SINCE changed_by=BY',
  row: ({ price }: typeof modelView.example) => ({ price_in_words: shownPrice(price) }),
};

export const listModels = readVerb({
  name: 'list_all_models',
  title: 'List models and prices',
  description: 'The SKUs of the settings, each with the price at which it is sold now, and who changed it.',
  path: '/models',
  fields: {},
  output: z.strictObject({ models: z.array(modelView.schema) }),
  answer: 'ModelList',
  command: { usage: 'models list', table: { ...table, none: 'There are no models.' } },
  handle: async (_input, services) => ({
    models: (await listAll(services)).map((listed) => modelView.show(listed)),
  }),
});

const skuField = lineField(128).describe('The SKU.');

const ofModel = {
  output: z.strictObject({ model: modelView.schema }),
  answer: 'ModelChanged',
  errors: ['not_found', 'invalid_value'],
} as const;

/** How a SKU is to be sold; `price` null: at that of the settings. */
interface Wanted {
  isOff: boolean;
  price: Price | null;
}

/** Throws AppError. */
const change = async (
  sku: string,
  toWanted: (listed: ListedModel) => Wanted,
  { services, callId }: { services: OperatorServices; callId: string },
): Promise<{ model: typeof modelView.example }> => {
  const listed = await findListed(sku, services);
  const { isOff, price } = toWanted(listed);
  const { kind } = listed.model;
  if (price !== null && !pricedBy[kind].includes(price.unit))
    throw wrongField(
      'invalid_value',
      'price',
      `price.unit: a SKU of kind ${kind} is priced by ${pricedBy[kind].join(' or ')}`,
    );
  const now = services.clock.now();
  const priced = price === null ? listed.model : { ...listed.model, price };
  const isChanged = await services.store.changeModel({
    sku,
    version: (listed.change?.version ?? 0) + 1,
    isOff,
    price: price === null ? null : toPriceDocument(price),
    before: toSoldAs(listed),
    after: { on: !isOff, price: toPriceDocument(priced.price) },
    now,
    callId,
  });
  if (!isChanged)
    throw wrongField(
      'invalid_value',
      'sku',
      'Somebody else changed this SKU meanwhile. See "models list" again.',
    );
  await services.gateway?.shelf.follow();
  return { model: modelView.show(await findListed(sku, services)) };
};

export const setModel = writeVerb({
  ...ofModel,
  name: 'set_model',
  title: 'Change the price of a model, or switch it off or on',
  description:
    'Changes how a SKU is sold, on all gateways of the store within five seconds, until it is changed again. A job keeps ' +
    'the price at which it was opened, and a payment for terms that were quoted before is taken at their price. Prices ' +
    'of single accounts stay as they are.',
  path: '/models/{sku}',
  fields: {
    sku: skuField,
    price: priceSchema
      .optional()
      .describe('The whole price in the form of causeway.yaml, as JSON. Default: as it is.'),
    state: z.enum(['on', 'off']).optional().describe('`off`: nobody can buy it. Default: as it is.'),
  },
  example: { sku: 'imagemodel-1.0', price: examplePrice },
  command: {
    usage: 'models set <sku> [--price <json>] [--state <state>]',
    more: '"models unset" returns to the settings.',
    examples: ['imagemodel-1.0 --state off'],
    table,
  },
  handle: async ({ sku, price, state }, services, callId) => {
    if (price === undefined && state === undefined)
      throw wrongField('invalid_value', 'price', 'Nothing is to be changed. Give a price, a state or both.');
    const toWanted = (listed: ListedModel): Wanted => ({
      isOff: state === undefined ? listed.change?.isOff === true : state === 'off',
      price: price ?? ownPrice(listed),
    });
    return change(sku, toWanted, { services, callId });
  },
});

export const unsetModel = writeVerb({
  ...ofModel,
  name: 'unset_model',
  title: 'Sell a model as the settings say',
  description: 'Undoes what operators changed of a SKU: it is sold at the price of the settings again.',
  path: '/models/{sku}/unset',
  fields: { sku: skuField },
  example: { sku: 'imagemodel-1.0' },
  exampleAnswer: { model: { ...modelView.example, changed: false } },
  command: { usage: 'models unset <sku>', table },
  handle: async ({ sku }, services, callId) =>
    change(sku, () => ({ isOff: false, price: null }), { services, callId }),
});

const revenueView = defineView<ModelSum>({
  income_usd: 'What balances and payments of calls paid, without refunds.',
  uncosted: 'Jobs that were done at an unknown cost: their route had no `cost`.',
  cost_usd: 'Null: unknown, as there are uncosted jobs.',
  margin_usd: 'Income without the cost. Null: unknown.',
})({
  model: [z.string(), 'model', 'imagemodel-1.0'],
  done: [count, 'done', 3],
  failed: [count, 'failed', 1],
  income_usd: [usd, (sum) => formatUsd(incomeOf(sum)), '0.12'],
  uncosted: [count, 'uncosted', 0],
  cost_usd: [usd.nullable(), ({ uncosted, cost }) => (uncosted > 0 ? null : formatUsd(cost)), '0.09'],
  margin_usd: [
    usd.nullable(),
    (sum) => (sum.uncosted > 0 ? null : formatUsd(incomeOf(sum) - sum.cost)),
    '0.03',
  ],
});

const incomeOf = ({ charged, refunded }: ModelSum): Nano => charged - refunded;

export const modelRevenue = readVerb({
  name: 'sum_up_models',
  title: 'Sum up income and cost by model',
  description:
    'Jobs of models that were created on days in UTC and have ended, of all accounts: what they brought, and what they cost ' +
    'by the `cost` of their routes.',
  path: '/models/revenue',
  fields: dayFields,
  output: z.strictObject({ ...shownDays, models: z.array(revenueView.schema) }),
  answer: 'ModelRevenue',
  example: { from: '2026-11-01', to: '2026-11-30' },
  command: {
    usage: 'models revenue [--from <day>] [--to <day>]',
    of: 'models',
    table: {
      columns: 'model >done >failed >income_usd=INCOME >cost_usd=COST >margin_usd=MARGIN >uncosted',
      none: 'No job of a model ended in this time.',
    },
  },
  handle: async (given, { store, clock }) => {
    const days = toDays(given, clock.now());
    const sums = await store.sumModels(days);
    return { ...showDays(days), models: sums.map((sum) => revenueView.show(sum)) };
  },
});

const soldAsSchema = z.strictObject({ on: z.boolean(), price: priceDocument });
const exampleBefore = { on: true, price: { unit: 'call', price_usd: '0.04' } };

const changeView = defineView<ModelChangeRow>({
  version: 'Counts the changes of the SKU.',
  by: 'The actor in the audit log.',
  before: 'How it was sold before.',
})({
  version: [z.int(), 'version', 1],
  at: timeOf('at', '2026-11-01T08:00:00.000Z'),
  by: [z.string(), 'changedBy', 'cli:root'],
  before: [soldAsSchema, 'before', exampleBefore],
  after: [soldAsSchema, 'after', { on: true, price: examplePrice }],
});

const inWords = ({ on, price }: SoldAs): string => (on ? shownPrice(price) : 'off');

export const listModelHistory = readVerb({
  name: 'list_model_history',
  title: 'List the changes of a model',
  description: 'Who changed the price of a SKU, or switched it off or on, newest first.',
  path: '/models/{sku}/history',
  fields: {
    sku: skuField,
    limit: limitField(1_000, 100),
    after: z.coerce
      .number()
      .int()
      .min(1)
      .optional()
      .describe('The version of the last change of the page before.'),
  },
  output: z.strictObject({ changes: z.array(changeView.schema), has_more: z.boolean() }),
  answer: 'ModelHistory',
  example: { sku: 'imagemodel-1.0', limit: 100 },
  command: {
    usage: 'models history <sku> [--limit <count>] [--after <version>]',
    table: {
      columns: 'version at by from to',
      none: 'Nobody changed it.',
      row: ({ before, after }: typeof changeView.example) => ({ from: inWords(before), to: inWords(after) }),
    },
  },
  handle: async ({ sku, limit, after }, { store }) => {
    const found = await store.listModelHistory({ sku, before: after ?? null, limit: limit + 1 });
    return toPage('changes', found, { limit, show: changeView.show });
  },
});
