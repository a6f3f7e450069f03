import { formatUsd } from '../../kit/money.ts';
import type { DescribedOperation } from '../../operations/definition.ts';
import { rulesOf } from '../../operations/sale-rules.ts';
import type { PriceRange } from '../../payments/sale/gate.ts';
import { idempotencyKeyParameter, paymentParameters, rangeParameter, signInParameter } from './headers.ts';
import { errorResponses, exampleKey, successResponses, takesKey } from './responses.ts';
import type { JsonSchema, SchemaRegistry } from './schema-registry.ts';

/** Returns one operation as OpenAPI's operation object. `brand` is shown in names of headers. */
export const toOperationObject = (
  operation: DescribedOperation,
  { schemas, brand }: { schemas: SchemaRegistry; brand: string },
): object => {
  const { name, rest, docs, price } = operation;
  const { isPrepaid, isPaid, isSignIn } = rulesOf(operation.sale);
  const requestName = `${pascalCase(name)}Request`;
  const input = schemas.convertInput(operation.input, requestName);
  const pathNames = [...rest.path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field ?? '');
  const bodySchema = bodyOf(input, [...pathNames, ...rest.query]);
  return {
    operationId: name,
    summary: operation.title,
    description: docs.description ?? operation.description,
    tags: [operation.group],
    security: securityOf(operation),
    ...(price ? { 'x-payment-info': paymentInfo(price) } : {}),
    parameters: [
      ...pathNames.map((field) => parameter(operation, { place: 'path', field, input })),
      ...rest.query.map((field) => parameter(operation, { place: 'query', field, input })),
      ...(isPrepaid ? [idempotencyKeyParameter] : []),
      ...(isPaid ? paymentParameters : []),
      ...(isSignIn ? [signInParameter] : []),
      ...(rest.content === undefined ? [] : [rangeParameter]),
    ],
    ...(rest.accepts === undefined ? {} : { requestBody: streamBody(rest.accepts) }),
    ...(rest.method === 'POST' && Object.keys(bodySchema.properties ?? {}).length > 0
      ? { requestBody: requestBody(operation, schemas.add(requestName, bodySchema)) }
      : {}),
    responses: { ...successResponses(operation, brand), ...errorResponses(operation, brand) },
  };
};

const securityOf = ({ sale }: DescribedOperation): object[] => {
  const key = { apiKey: [] };
  if (rulesOf(sale).key === 'needed') return [key];
  return takesKey(sale) ? [{}, key] : [];
};

/** Returns the price, where crawlers of paid interfaces such as x402scan look for it. */
const paymentInfo = ({ least, most }: PriceRange): object => ({
  protocols: ['x402'],
  price:
    least === most
      ? { mode: 'fixed', currency: 'USD', amount: formatUsd(least) }
      : {
          mode: 'dynamic',
          currency: 'USD',
          min: formatUsd(least),
          max: most === null ? null : formatUsd(most),
        },
});

const pascalCase = (name: string): string =>
  name.replace(/(?:^|_)(\w)/g, (_whole, letter: string) => letter.toUpperCase());

/** Returns the input without the fields that come in the path and the query. */
const bodyOf = (input: JsonSchema, elsewhere: readonly string[]): JsonSchema => ({
  ...input,
  properties: Object.fromEntries(
    Object.entries(input.properties ?? {}).filter(([name]) => !elsewhere.includes(name)),
  ),
  required: (input.required ?? []).filter((name) => !elsewhere.includes(name)),
});

const streamBody = (types: readonly string[]): object => ({
  required: true,
  content: Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
});

const requestBody = ({ rest, docs }: DescribedOperation, schema: object): object => ({
  required: rest.isBodyOptional !== true,
  content: {
    'application/json': {
      schema,
      examples: Object.fromEntries(
        docs.examples
          .filter(({ body }) => body !== undefined)
          .map(({ summary, body }) => [exampleKey(summary), { summary, value: body }]),
      ),
    },
  },
});

const parameter = (
  { docs }: DescribedOperation,
  { place, field, input }: { place: 'path' | 'query'; field: string; input: JsonSchema },
): object => {
  const { description, ...schema } = input.properties?.[field] ?? {};
  const example = docs.examples
    .map(({ parameters }) => parameters?.[field])
    .find((value) => value !== undefined);
  return {
    name: field,
    in: place,
    required: place === 'path',
    ...(description === undefined ? {} : { description }),
    schema,
    ...(example === undefined ? {} : { example }),
  };
};
