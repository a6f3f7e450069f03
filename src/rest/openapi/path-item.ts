import { formatUsd } from '../../kit/money.ts';
import type { Operation, X402Sale } from '../../operations/operation.ts';
import { operationExamples } from './examples.ts';
import { fieldText } from './field-texts.ts';
import { idempotencyKeyParameter, paymentParameters, rangeParameter } from './header-book.ts';
import { errorResponses, exampleKey, successResponses } from './responses.ts';
import { operationText } from './rest-words.ts';
import { reference, type JsonSchema, type SchemaBook } from './schema-book.ts';

export interface OperationPlace {
  book: SchemaBook;
  /** The schema of its answer. */
  answerName: string;
  /** As people read it. */
  brand: string;
}

/** One operation as OpenAPI's operation object. */
export const toOperationObject = (
  operation: Operation,
  { book, answerName, brand }: OperationPlace,
): object => {
  const { name, rest } = operation;
  const { prepaid, x402 } = operation.sale ?? {};
  const requestName = `${pascalCase(name)}Request`;
  const input = book.convert(operation.input, { io: 'input', name: requestName });
  const pathNames = [...rest.path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field ?? '');
  return {
    operationId: name,
    summary: operation.title,
    description: operationText(operation),
    tags: [operation.group],
    security: x402 === undefined ? [{ apiKey: [] }] : prepaid === undefined ? [] : [{}, { apiKey: [] }],
    ...(x402 === undefined ? {} : { 'x-payment-info': paymentInfo(x402) }),
    parameters: [
      ...pathNames.map((field) => parameter(operation, { place: 'path', field, input })),
      ...rest.query.map((field) => parameter(operation, { place: 'query', field, input })),
      ...(prepaid === undefined ? [] : [idempotencyKeyParameter]),
      ...(x402 === undefined ? [] : paymentParameters),
      ...(rest.content === undefined ? [] : [rangeParameter]),
    ],
    ...(rest.method === 'POST'
      ? { requestBody: requestBody(operation, book.add(requestName, bodyOf(operation, input))) }
      : {}),
    responses: {
      ...successResponses(operation, { answer: reference(answerName), brand }),
      ...errorResponses(operation, brand),
    },
  };
};

/** What crawlers of paid interfaces, such as x402scan, look for. */
const paymentInfo = ({ priceRange: { least, most } }: X402Sale): object => ({
  protocols: ['x402'],
  price:
    least === most
      ? { mode: 'fixed', currency: 'USD', amount: formatUsd(least) }
      : { mode: 'dynamic', currency: 'USD', min: formatUsd(least), max: formatUsd(most) },
});

export const pascalCase = (name: string): string =>
  name.replace(/(?:^|_)(\w)/g, (_whole, letter: string) => letter.toUpperCase());

/** The part of the input that comes in the body. */
const bodyOf = ({ name: operation, rest }: Operation, input: JsonSchema): JsonSchema => {
  const names = Object.keys(input.properties ?? {}).filter((name) => !rest.query.includes(name));
  return {
    ...input,
    properties: Object.fromEntries(
      Object.entries(input.properties ?? {})
        .filter(([name]) => names.includes(name))
        .map(([name, { description = fieldText(operation, name), ...field }]) => [
          name,
          { ...(description === undefined ? {} : { description }), ...field },
        ]),
    ),
    required: (input.required ?? []).filter((name) => names.includes(name)),
  };
};

const requestBody = ({ name }: Operation, schema: object): object => ({
  required: true,
  content: {
    'application/json': {
      schema,
      examples: Object.fromEntries(
        (operationExamples[name] ?? [])
          .filter(({ body }) => body !== undefined)
          .map(({ summary, body }) => [exampleKey(summary), { summary, value: body }]),
      ),
    },
  },
});

interface ParameterPlace {
  place: 'path' | 'query';
  field: string;
  input: JsonSchema;
}

const parameter = ({ name }: Operation, { place, field, input }: ParameterPlace): object => {
  const { description = fieldText(name, field), ...schema } = input.properties?.[field] ?? {};
  const example = (operationExamples[name] ?? [])
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
