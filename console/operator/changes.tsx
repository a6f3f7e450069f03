import { useState } from 'preact/hooks';
import { ApiError } from '../api.ts';
import { toWords } from '../format.ts';
import { useConfirmed } from '../parts/confirm.tsx';
import { Choice, readFields, Shown, Title } from '../parts/parts.tsx';
import { Link, usePlace } from '../router.tsx';
import { useCallId, useConsole, useLoad } from '../use-console.ts';

/** The parts of JSON Schema and of OpenAPI that a form is made of. */
interface Schema {
  type?: string | string[];
  anyOf?: Schema[];
  enum?: string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  $ref?: string;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  parameters: { name: string; in: string; description?: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

interface Field {
  name: string;
  schema: Schema;
  isInPath: boolean;
  isRequired: boolean;
}

interface Change extends Pick<Operation, 'summary' | 'description'> {
  name: string;
  group: string;
  path: string;
  fields: Field[];
}

/** A new id of the caller, with which a repeated call changes nothing twice. */
const isNewId = ({ name, isInPath, isRequired }: Field): boolean =>
  !isInPath && isRequired && name.endsWith('_id');

const toChange = (path: string, operation: Operation, { schemas }: Description['components']): Change => {
  const given = operation.requestBody?.content['application/json']?.schema;
  const { properties = {}, required = [] } = schemas[given?.$ref?.split('/').at(-1) ?? ''] ?? {};
  const inPath = operation.parameters.map(({ name, description, schema }) => ({
    name,
    schema: { ...schema, description },
    isInPath: true,
    isRequired: true,
  }));
  const inBody = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    isInPath: false,
    isRequired: required.includes(name),
  }));
  return {
    name: operation.operationId,
    summary: operation.summary,
    description: operation.description,
    group: operation.tags[0] ?? '',
    path,
    fields: [...inPath, ...inBody],
  };
};

/** What an operator can change, as the description of the interface has it; without what takes files. */
const changesOf = ({ paths, components }: Description): Change[] =>
  Object.entries(paths).flatMap(([path, { post }]) => {
    const types = Object.keys(post?.requestBody?.content ?? { 'application/json': {} });
    return post === undefined || !types.includes('application/json')
      ? []
      : [toChange(path, post, components)];
  });

const has = ({ type, anyOf = [] }: Schema, wanted: string): boolean =>
  type === wanted || (Array.isArray(type) && type.includes(wanted)) || anyOf.some((one) => has(one, wanted));

const isList = ({ items, anyOf = [] }: Schema): boolean => items?.type === 'string' || anyOf.some(isList);

/** Reads what a person wrote as the value of a field. Throws ApiError on text that is no JSON. */
const toValue = ({ name, schema }: Field, text: string): unknown => {
  if (text === 'null' && has(schema, 'null')) return null;
  if (isList(schema)) return text.split('\n').map((line) => line.trim());
  if (has(schema, 'string')) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ApiError(422, `${toWords(name)} is no JSON, such as 5, true, "a text" or {"member": 5}.`);
  }
};

/** Writes what a description has between backticks as code. */
const Prose = ({ text }: { text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>
);

const FieldOf = ({ field: { name, schema, isRequired }, value }: { field: Field; value: string }) => {
  const { description } = schema;
  const label = <Prose text={toWords(name) + (description === undefined ? '' : `: ${description}`)} />;
  const options = has(schema, 'boolean') ? ['true', 'false'] : schema.enum;
  if (options !== undefined)
    return (
      <Choice name={name} label={label} value={value} options={['', ...options]} texts={{ '': 'as usual' }} />
    );
  const isText = has(schema, 'string') && !isList(schema);
  return (
    <label class="field">
      <span>{label}</span>
      {isText || has(schema, 'integer') ? (
        <input name={name} defaultValue={value} required={isRequired} />
      ) : (
        <textarea name={name} rows={4} required={isRequired} defaultValue={value} />
      )}
    </label>
  );
};

type Given = Readonly<Record<string, string>>;

const questionOf = ({ summary, fields }: Change, given: Given): string => {
  const parts = fields.flatMap(({ name }) => {
    const value = given[name] ?? '';
    return value === '' ? [] : [`${toWords(name)}: ${value}${name.endsWith('_usd') ? ' US dollars' : ''}.`];
  });
  return `${summary}? ${parts.join(' ')}`;
};

/** Splits what was given into the address and the body of the call. */
const toCall = ({ path, fields }: Change, given: Given): { path: string; body: object } => {
  const set = fields.filter(({ name }) => (given[name] ?? '') !== '');
  const address = path.replaceAll(/\{(\w+)\}/g, (_part, name: string) =>
    encodeURIComponent(given[name] ?? ''),
  );
  const body = set
    .filter(({ isInPath }) => !isInPath)
    .map((field) => [field.name, toValue(field, given[field.name] ?? '')]);
  return { path: address.slice(1), body: Object.fromEntries(body) as object };
};

/** A change with its fields, which the address may have; it is asked once more, and shows what the gateway answered. */
const ChangeForm = ({ change }: { change: Change }) => {
  const { api } = useConsole();
  const { query } = usePlace();
  const { isBusy, ask, dialog } = useConfirmed();
  const { once } = useCallId();
  const [answer, setAnswer] = useState<object | null>(null);
  const post = async (given: Given): Promise<void> => {
    setAnswer(null);
    const idField = change.fields.find(isNewId);
    setAnswer(
      await once((id) => {
        const { path, body } = toCall(change, idField ? { ...given, [idField.name]: id } : given);
        return api.read<object>(path, { body });
      }),
    );
  };
  const askFor = (event: SubmitEvent): void => {
    const given = readFields(event);
    ask({ question: questionOf(change, given), yes: change.summary, act: () => post(given) });
  };
  return (
    <>
      <p class="soft">
        <Prose text={change.description} />
      </p>
      <form class="ask" onSubmit={askFor}>
        {change.fields
          .filter((field) => !isNewId(field))
          .map((field) => (
            <FieldOf key={field.name} field={field} value={query.get(field.name) ?? ''} />
          ))}
        <div class="row">
          <button type="submit" class="main" disabled={isBusy}>
            {change.summary}
          </button>
        </div>
      </form>
      {dialog}
      {answer !== null && (
        <section role="status">
          <h2>Done</h2>
          <pre class="answer" tabIndex={0}>
            {JSON.stringify(answer, null, 2)}
          </pre>
        </section>
      )}
    </>
  );
};

const ChangeList = ({ changes }: { changes: readonly Change[] }) => (
  <>
    {[...Map.groupBy(changes, ({ group }) => group)].map(([group, all]) => (
      <section key={group}>
        <h2>{toWords(group)}</h2>
        <ul>
          {all.map(({ name, summary }) => (
            <li key={name}>
              <Link path={`operator/changes/${name}`}>{summary}</Link>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </>
);

/** All that an operator can change, or one change. */
export const Changes = ({ id }: { id: string }) => {
  const loaded = useLoad<Description>('admin/v1/openapi.json');
  return (
    <Shown loaded={loaded}>
      {(description) => {
        const changes = changesOf(description);
        const change = changes.find(({ name }) => name === id);
        return (
          <>
            <Title>{change?.summary ?? 'Changes'}</Title>
            {change === undefined ? <ChangeList changes={changes} /> : <ChangeForm change={change} />}
          </>
        );
      }}
    </Shown>
  );
};
