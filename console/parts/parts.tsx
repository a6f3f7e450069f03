import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { atMoment } from '../format.ts';
import { isVisit } from '../router.tsx';
import type { Loaded } from '../use-console.ts';

/** The head of a page. A link of the console that leads to the page moves the focus to it. */
export const Title = ({ children, aside }: { children: ComponentChildren; aside?: ComponentChildren }) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isVisit()) heading.current?.focus();
  }, []);
  return (
    <header class="title">
      <h1 tabIndex={-1} ref={heading}>
        {children}
      </h1>
      {aside}
    </header>
  );
};

export const PrintButton = () => (
  <button type="button" onClick={() => globalThis.print()}>
    Print
  </button>
);

export const Problem = ({ text }: { text: string | null }) =>
  text === null ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );

/**
 * Shows what was loaded; until then a place that keeps its room, and the gateway's words if it refuses. `missing`: what to
 * say where this gateway does not offer it.
 */
export const Shown = <Answer,>({
  loaded: { data, problem, isMissing },
  missing,
  children,
}: {
  loaded: Loaded<Answer>;
  missing?: string;
  children: (data: Answer) => ComponentChildren;
}) => {
  if (isMissing && missing !== undefined) return <p class="none">{missing}</p>;
  return (
    <>
      <Problem text={problem} />
      {data === null && problem === null && <p class="waiting">Loading…</p>}
      {data !== null && children(data)}
    </>
  );
};

export const Moment = ({ at }: { at: string | null }) =>
  at === null ? <>–</> : <time dateTime={at}>{atMoment(at)}</time>;

const tones: Readonly<Record<string, string>> = {
  done: 'good',
  active: 'good',
  up: 'good',
  failing: 'bad',
  delivered: 'good',
  settled: 'good',
  failed: 'bad',
  suspended: 'bad',
  unknown: 'bad',
  queued: 'soft',
  running: 'soft',
  pending: 'soft',
  broadcasting: 'soft',
};

export const State = ({ name }: { name: string }) => (
  <span class={`state ${tones[name] ?? 'plain'}`}>{name}</span>
);

export type Fact = readonly [name: string, value: ComponentChildren];

/** A list of names with their values. */
export const Facts = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value ?? '–'}</dd>
      </div>
    ))}
  </dl>
);

export interface FieldProps {
  name: string;
  label: string;
  /** Default: one line of text. */
  type?: 'password' | 'date' | 'month';
  value?: string;
  isRequired?: boolean;
  hint?: string;
  isOff?: boolean;
}

/** A field of a form with its label. */
export const Field = ({ name, label, type, value, isRequired, hint, isOff }: FieldProps) => {
  const own = {
    name,
    defaultValue: value,
    required: isRequired === true,
    placeholder: hint,
    autocomplete: isOff === true ? ('off' as const) : undefined,
  };
  return (
    <label class="field">
      <span>{label}</span>
      {type === 'password' && <input type="password" {...own} />}
      {type === undefined && <input {...own} />}
      {(type === 'date' || type === 'month') && <input type={type} {...own} />}
    </label>
  );
};

export const Choice = ({
  name,
  label,
  value,
  options,
  texts = { '': 'all' },
}: {
  name: string;
  label: ComponentChildren;
  value?: string;
  options: readonly string[];
  /** Stand for options. */
  texts?: Readonly<Record<string, string>>;
}) => (
  <label class="field">
    <span>{label}</span>
    <select name={name}>
      {options.map((option) => (
        <option key={option} value={option} selected={option === value}>
          {texts[option] ?? option}
        </option>
      ))}
    </select>
  </label>
);

/** Reads a form as texts, without spaces around them. */
export const readFields = (event: SubmitEvent): Record<string, string> => {
  event.preventDefault();
  const form = event.currentTarget as HTMLFormElement;
  const fields = [...new FormData(form)];
  return Object.fromEntries(
    fields.map(([name, value]) => [name, typeof value === 'string' ? value.trim() : '']),
  );
};
