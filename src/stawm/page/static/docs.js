// Draws /api/openapi.json: every operation with its body, its answers, and a button where trying it needs no body.

const element = (tag, content = [], attributes = {}) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...[content].flat());
  return made;
};

const resolve = (schema, whole) => {
  const name = schema?.$ref?.split("/").pop();
  return name ? { title: name, ...whole.components.schemas[name] } : schema ?? {};
};

const typeOf = (schema, whole) => {
  if (schema.anyOf) return schema.anyOf.map((one) => typeOf(one, whole)).join(" or ");
  const found = resolve(schema, whole);
  if (found.const) return JSON.stringify(found.const);
  if (found.enum) return found.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (found.type === "array") return `list of ${typeOf(found.items ?? {}, whole)}`;
  return found.properties ? found.title ?? "object" : found.type ?? "anything";
};

// The objects inside a schema, so that each gets a table of its own.
const parts = (schema, whole) => [schema, schema.items, ...(schema.anyOf ?? [])].filter(Boolean).flatMap((one) => {
  const found = resolve(one, whole);
  if (found.properties) return [found];
  return one === schema ? [] : parts(one, whole);
});

const fields = (schema, whole, seen = new Set()) => parts(schema, whole).flatMap((shape) => {
  if (seen.has(shape.title)) return [];
  seen.add(shape.title);
  const required = new Set(shape.required ?? []);
  const rows = Object.entries(shape.properties).map(([name, value]) => element("tr", [
    element("td", element("code", name)),
    element("td", typeOf(value, whole)),
    element("td", [value.description ?? value.items?.description ?? "", required.has(name) ? "" : " (optional)"].join("")),
  ]));
  const table = element("table", element("tbody", rows));
  const inner = Object.values(shape.properties).flatMap((value) => fields(value, whole, seen));
  return [...(shape.title ? [element("h3", shape.title)] : []), table, ...inner];
});

const contents = (title, content, whole) => Object.entries(content ?? {}).flatMap(([type, { schema }]) => [
  element("h3", [`${title}: `, element("code", type), ` ${schema.properties ? "" : typeOf(schema, whole)}`]),
  ...fields(schema, whole),
]);

const trial = (path) => {
  const shown = element("pre", "", { hidden: true });
  const button = element("button", `GET ${path}`, { type: "button" });
  button.addEventListener("click", async () => {
    const answer = await fetch(path);
    const text = await answer.text();
    shown.textContent = `${answer.status}\n${text.length > 4000 ? `${text.slice(0, 4000)} …` : text}`;
    shown.hidden = false;
  });
  return [element("p", button), shown];
};

const article = (path, method, operation, whole) => {
  const refusals = Object.entries(operation.responses).filter(([status]) => status !== "200");
  return element("article", [
    element("h2", [element("code", `${method.toUpperCase()} ${path}`), ` ${operation.summary ?? ""}`]),
    element("p", operation.description ?? ""),
    ...contents("Body", operation.requestBody?.content, whole),
    ...contents("Answer", operation.responses["200"]?.content, whole),
    element("h3", "Refusals, as {\"detail\": one sentence}"),
    element("table", element("tbody", refusals.map(([status, { description }]) =>
      element("tr", [element("td", element("code", status)), element("td", description)])))),
    ...(method === "get" ? trial(path) : []),
  ]);
};

const whole = await (await fetch("/api/openapi.json")).json();
document.getElementById("about").textContent = whole.info.description;
document.getElementById("operations").replaceChildren(...Object.entries(whole.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => article(path, method, operation, whole))));
document.getElementById("terminal").textContent =
  `curl ${location.origin}/api/look -H 'Content-Type: application/json' \\\n` +
  `  -d "{\\"images\\": [\\"$(base64 -w0 three.png)\\"], \\"memory\\": true}"`;
