import { zodToJsonSchema } from 'zod-to-json-schema';

/**
 * JSON Schema of the decoded `PAYMENT-REQUIRED` header, from x402's own schema. That is a zod 3 schema, which
 * zod 4's converter does not read; it stays behind this function.
 */
export const loadPaymentRequiredSchema = async (): Promise<object> => {
  const schemas: Record<string, unknown> = await import('@x402/core/schemas');
  // Named as unknown: the compiler does not get through the schema's full type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const schema = schemas['PaymentRequiredV2Schema'] as Parameters<typeof zodToJsonSchema>[0];
  const { $schema: _dialect, ...converted } = zodToJsonSchema(schema, { target: 'jsonSchema2019-09' });
  return converted;
};
